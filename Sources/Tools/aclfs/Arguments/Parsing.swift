import ACLFormats
import ArgumentParser
import ToolSupport

/// Why a command is not run.
enum Unparsed: Error {
    /// Help, as text of the parser.
    case help(String)
    /// The command line is wrong. The text may contain words of it.
    case wrong(String, usage: String)
}

extension ParsableCommand {
    /// Reads the words after the subcommand.
    static func read(_ words: [[UInt8]]) throws(Unparsed) -> Self {
        do {
            if let command = try parseAsRoot(words.map { ByteWord.text($0) }) as? Self { return command }
            // The parser returns another command for --help.
            throw Unparsed.help(helpMessage())
        } catch let error as Unparsed {
            throw error
        } catch {
            if exitCode(for: error).isSuccess { throw Unparsed.help(fullMessage(for: error)) }
            let usage = usageString().split(separator: "\n").joined(separator: "\n       ")
            // The message contains bytes outside UTF-8 as scalars (`ByteWord`).
            let bytes = ByteWord(argument: message(for: error))?.bytes ?? []
            throw Unparsed.wrong("aclfs: \(escapedText(bytes))", usage: "usage: \(usage)")
        }
    }

    /// Reads the words, and runs the command or prints help.
    /// - Parameters:
    ///   - words: after the subcommand.
    ///   - wrongUse: the exit status of a wrong command line.
    ///   - more: what help has besides the arguments.
    ///   - body: the command.
    /// - Returns: the exit status.
    static func run(_ words: [[UInt8]], wrongUse: Int32, more: String? = nil, _ body: (Self) -> Int32) -> Int32 {
        do throws(Unparsed) { return body(try read(words)) } catch {
            switch error {
            case .help(let text):
                printLines(text + (more.map { "\n" + $0 } ?? ""))
                return 0
            case .wrong(let message, let usage):
                printError(message, usage: usage)
                return wrongUse
            }
        }
    }
}
