import ACLFormats

/// Prints one line on standard error, escaped by `Message`.
/// - Parameters:
///   - text: the line.
///   - usage: the program's own text after it.
package func printError(_ text: String, usage: String? = nil) {
    OutputSink.standard.error(Message.line(text) + (usage.map { Message.lines($0, columns: TextWidth.columns(of: 2)) } ?? []))
}

/// Prints the program's usage on standard error.
package func printUsageError(_ usage: String) { OutputSink.standard.error(Message.lines(usage, columns: TextWidth.columns(of: 2))) }

/// Prints one line on standard output. print() would hide errors.
package func printLine(_ text: String) { StandardOutput.write(Message.line(text)) }
/// Prints the program's own text on standard output.
package func printLines(_ text: String) { StandardOutput.write(Message.lines(text, columns: TextWidth.columns(of: 1))) }
/// Prints a JSON value and a line feed on standard output.
package func printJSON(_ value: JSON) { StandardOutput.write(JSONText.write(value) + [0x0A]) }
