import ACLFormats
import LinuxSystem

/// Where a command writes, and what it reads from standard input. Injected, so that tests see every byte.
public struct OutputSink {
    public var output: ([UInt8]) -> Void
    public var error: ([UInt8]) -> Void
    /// Everything on standard input; `nil` if it cannot be read.
    public var input: () -> [UInt8]?

    public init(
        output: @escaping ([UInt8]) -> Void, error: @escaping ([UInt8]) -> Void,
        input: @escaping () -> [UInt8]? = { nil }
    ) {
        (self.output, self.error, self.input) = (output, error, input)
    }

    /// The process's own streams.
    public static var standard: OutputSink {
        OutputSink(
            output: { write($0, to: 1) }, error: { write($0, to: 2) },
            // More than any text can be long, so that a text that is too long is still noticed.
            input: { try? Syscall.readAll(0, limit: 1 << 17) })
    }

    public func line(_ text: String) { output(Array("\(text)\n".utf8)) }

    /// `aclfs: PATH: reason`, the path shown so that it cannot act on the terminal.
    public func complain(_ path: [UInt8], _ reason: String) { complain("\(escapedName(path)): \(reason)") }
    public func complain(_ text: String) { error(Array("aclfs: \(text)\n".utf8)) }
}

/// A reader that went away ends the output, not the work: what a command was asked to change gets changed.
private func write(_ bytes: [UInt8], to descriptor: Int32) {
    bytes.withUnsafeBytes { buffer in
        var rest = buffer[...]
        while !rest.isEmpty {
            guard let count = try? Syscall.write(descriptor, UnsafeRawBufferPointer(rebasing: rest)), count > 0 else {
                return
            }
            rest = rest.dropFirst(count)
        }
    }
}
