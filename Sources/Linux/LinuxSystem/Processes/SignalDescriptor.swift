import CLinux

/// Blocked signals as a descriptor, to wait for them together with others.
public final class SignalDescriptor: Sendable {
    private let descriptor: OwnedDescriptor

    public init(_ numbers: [Int32]) throws(Errno) {
        descriptor = OwnedDescriptor(rawValue: try value(aclfs_signal_descriptor(numbers, UInt32(numbers.count))))
    }

    /// For poll(2).
    public var rawValue: Int32 { descriptor.rawValue }

    /// - Returns: the number of the next signal, and whether a process sent it and not the kernel, as for a terminal.
    public func next() throws(Errno) -> (number: Int32, isFromProcess: Bool) {
        var code: Int32 = 0
        let number = try repeating { aclfs_next_signal(descriptor.rawValue, &code) }
        return (number, code <= 0)
    }
}
