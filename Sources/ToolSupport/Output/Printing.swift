import ACLFormats

/// One line on standard error. Like all that people read it goes through `Message`.
/// - Parameter usage: the program's own text, which follows.
package func printError(_ text: String, usage: String? = nil) {
    OutputSink.standard.error(Message.line(text) + (usage.map { Message.lines($0) } ?? []))
}

package func printUsageError(_ usage: String) { OutputSink.standard.error(Message.lines(usage)) }

/// On standard output. Never through print(), whose errors nobody learns.
package func printLine(_ text: String) { StandardOutput.write(Message.line(text)) }
/// A text of the program's own.
package func printLines(_ text: String) { StandardOutput.write(Message.lines(text)) }
package func printJSON(_ value: JSON) { StandardOutput.write(JSONText.write(value) + [0x0A]) }
