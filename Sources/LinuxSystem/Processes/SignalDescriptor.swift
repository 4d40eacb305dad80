import CLinux

/// Blocked signals, one at a time, where something else is waited for too.
public final class SignalDescriptor: Sendable {
    private let descriptor: OwnedDescriptor

    public init(_ numbers: [Int32]) throws(Errno) {
        descriptor = OwnedDescriptor(rawValue: try value(aclfs_signal_descriptor(numbers, UInt32(numbers.count))))
    }

    /// For poll(2).
    public var rawValue: Int32 { descriptor.rawValue }

    /// - Returns: its number, and whether a process sent it rather than the kernel, as a terminal has it do.
    public func next() throws(Errno) -> (number: Int32, isFromProcess: Bool) {
        var code: Int32 = 0
        let number = try repeating { aclfs_next_signal(descriptor.rawValue, &code) }
        return (number, code <= 0)
    }
}
