import ACLFormats
import LinuxSystem

/// Where a command writes, and what it reads from standard input. Injected, so that tests see every byte.
package struct OutputSink {
    package var output: ([UInt8]) -> Void
    package var error: ([UInt8]) -> Void
    /// Whether the output takes more; a command that only tells may stop when it does not.
    package var isOpen: () -> Bool
    /// Everything on standard input; `nil` if it cannot be read.
    package var input: () -> [UInt8]?

    package init(
        output: @escaping ([UInt8]) -> Void, error: @escaping ([UInt8]) -> Void,
        isOpen: @escaping () -> Bool = { true }, input: @escaping () -> [UInt8]? = { nil }
    ) {
        (self.output, self.error, self.isOpen, self.input) = (output, error, isOpen, input)
    }

    /// The process's own streams.
    package static var standard: OutputSink {
        OutputSink(
            output: { StandardOutput.write($0) },
            // Where that fails, there is no place left to say it.
            error: { try? writeAll($0, to: 2) }, isOpen: { StandardOutput.isOpen },
            // More than any text can be long, so that a text that is too long is still noticed.
            input: { try? Syscall.readAll(0, limit: 1 << 17) })
    }

    /// Tabs stand between columns.
    package func line(_ text: String) { output(Message.row(text)) }
    /// A text of the program's own.
    package func lines(_ text: String) { output(Message.lines(text)) }

    /// `aclfs: PATH: reason`, the path shown so that it cannot act on the terminal.
    package func complain(_ path: [UInt8], _ reason: String) { complain("\(escapedName(path)): \(reason)") }
    /// - Parameter usage: the program's own text, which follows.
    package func complain(_ text: String, usage: String? = nil) {
        error(Message.line("aclfs: \(text)") + (usage.map { Message.lines($0) } ?? []))
    }
}
