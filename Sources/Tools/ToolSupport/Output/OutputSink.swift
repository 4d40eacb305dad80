import ACLFormats
import LinuxSystem

/// The streams of a command. Injected, so that tests see every byte.
package struct OutputSink {
    package var output: ([UInt8]) -> Void
    package var error: ([UInt8]) -> Void
    /// Whether the output takes more. A command that only prints may stop otherwise.
    package var isOpen: () -> Bool
    /// Reads all of standard input; `nil` if it cannot be read.
    package var input: () -> [UInt8]?

    /// The columns of the program's own text on either stream.
    package var columns: (Int32) -> Int = { _ in TextWidth.usual }

    package init(
        output: @escaping ([UInt8]) -> Void, error: @escaping ([UInt8]) -> Void,
        isOpen: @escaping () -> Bool = { true }, input: @escaping () -> [UInt8]? = { nil }
    ) {
        (self.output, self.error, self.isOpen, self.input) = (output, error, isOpen, input)
    }

    /// The streams of the process.
    package static var standard: OutputSink {
        var sink = OutputSink(
            output: { StandardOutput.write($0) },
            // A failure of standard error cannot be reported.
            error: { try? Syscall.writeAll(2, $0) }, isOpen: { StandardOutput.isOpen },
            // Above every limit, so that a parser notices a text that is too long.
            input: { try? Syscall.readAll(0, limit: 1 << 17) })
        sink.columns = TextWidth.columns
        return sink
    }

    /// Writes a line with tabs between columns.
    package func line(_ text: String) { output(Message.row(text)) }
    /// Writes the program's own text.
    package func lines(_ text: String) { output(Message.lines(text, columns: columns(1))) }

    /// Writes `aclfs: PATH: reason` with an escaped path to standard error.
    package func complain(_ path: [UInt8], _ reason: String) { complain("\(escapedName(path)): \(reason)") }
    /// Writes `aclfs: TEXT` to standard error.
    /// - Parameters:
    ///   - text: one line.
    ///   - usage: the program's own text after it.
    package func complain(_ text: String, usage: String? = nil) {
        error(Message.line("aclfs: \(text)") + (usage.map { Message.lines($0, columns: columns(2)) } ?? []))
    }
}
