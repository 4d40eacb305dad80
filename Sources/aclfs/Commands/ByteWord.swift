import ACLFormats
import ArgumentParser
import Glibc
import ToolSupport

/// A word of the command line as the kernel handed it over: names of files need not be text, and the argument parser
/// takes text. So a byte that is no UTF-8 stands as a scalar of the last private plane while it is parsed.
struct ByteWord: ExpressibleByArgument {
    let bytes: [UInt8]

    private static let escapes: ClosedRange<UInt32> = 0x10FF00...0x10FFFF

    init(bytes: [UInt8]) { self.bytes = bytes }

    init?(argument: String) {
        var bytes: [UInt8] = []
        for scalar in argument.unicodeScalars {
            if Self.escapes.contains(scalar.value) {
                bytes.append(UInt8(scalar.value - Self.escapes.lowerBound))
            } else {
                bytes += Array(String(scalar).utf8)
            }
        }
        self.bytes = bytes
    }

    /// The text that is read back as these bytes.
    static func text(_ bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        var rest = bytes[...]
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            let sequence = rest.prefix(length)
            if let scalar = String(validating: sequence, as: UTF8.self)?.unicodeScalars.first,
                !escapes.contains(scalar.value)
            {
                text.append(scalar)
                rest = rest.dropFirst(length)
            } else {
                text.append(Unicode.Scalar(escapes.lowerBound + UInt32(first)) ?? "?")
                rest = rest.dropFirst()
            }
        }
        return String(text)
    }
}

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
