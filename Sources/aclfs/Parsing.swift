import ACLFormats
import ArgumentParser
import ToolSupport

/// Why a command line is not run: help that was asked for, or what is wrong with it.
enum Unparsed: Error {
    /// The parser's own text.
    case help(String)
    /// What is wrong, in which words of the command line may stand, and the usage.
    case wrong(String, usage: String)
}

extension ParsableCommand {
    /// Reads the words after the subcommand.
    static func read(_ words: [[UInt8]]) throws(Unparsed) -> Self {
        do {
            if let command = try parseAsRoot(words.map { ByteWord.text($0) }) as? Self { return command }
            // What the parser makes of --help.
            throw Unparsed.help(helpMessage())
        } catch let error as Unparsed {
            throw error
        } catch {
            if exitCode(for: error).isSuccess { throw Unparsed.help(fullMessage(for: error)) }
            let usage = usageString().split(separator: "\n").joined(separator: "\n       ")
            // Bytes that are no text stand in it as they were put in for the parser.
            let bytes = ByteWord(argument: message(for: error))?.bytes ?? []
            throw Unparsed.wrong("aclfs: \(escapedText(bytes))", usage: "usage: \(usage)")
        }
    }

    /// Reads the words and runs the command; help is printed, and a wrong word is answered with the status.
    static func run(_ words: [[UInt8]], wrongUse: Int32, _ body: (Self) -> Int32) -> Int32 {
        do throws(Unparsed) { return body(try read(words)) } catch {
            switch error {
            case .help(let text):
                printLines(text)
                return 0
            case .wrong(let message, let usage):
                printError(message, usage: usage)
                return wrongUse
            }
        }
    }
}
