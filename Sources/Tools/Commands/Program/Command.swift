import ACLFormats
import ArgumentParser
import ToolSupport

/// A command: its word, what `--help` says, and what it does. Manual pages (Scripts/make-man) are made from its help.
package protocol Command {
    /// With the words before it, as `aclfs acl export`.
    static var name: String { get }
    /// Whether another word follows, which belongs to the command.
    static var takesWord: Bool { get }
    /// - Parameter words: after the command's own, as bytes: names of files need not be text.
    /// - Returns: the exit status.
    static func run(_ words: [[UInt8]]) -> Int32
}

extension Command {
    package static var word: String { name.split(separator: " ").last.map(String.init) ?? "" }
    package static var takesWord: Bool { false }
}

/// A command in the list of `aclfs --help`.
package protocol ListedCommand: Command {
    static var summary: String { get }
    /// After `aclfs`.
    static var example: String { get }
}

/// A command that consists of others.
protocol CommandGroup: Command {
    static var commands: [any Command.Type] { get }
    /// What help prints: the forms of the commands, as their own help has them, unless a group has more to say.
    static var usage: String { get }
}

extension CommandGroup {
    static var usage: String { "usage: " + commands.flatMap(forms).joined(separator: "\n       ") }

    private static func forms(of command: any Command.Type) -> [String] {
        if let group = command as? any CommandGroup.Type {
            return ["\(group.name) \(group.commands.map { $0.word }.joined(separator: "|")) ..."]
        }
        return (command as? any ParsedCommand.Type)?.configuration.usage?.split(separator: "\n").map { String($0) } ?? []
    }

    package static var takesWord: Bool { true }

    package static func run(_ words: [[UInt8]]) -> Int32 {
        guard let word = words.first.map({ String(decoding: $0, as: UTF8.self) }) else {
            printUsageError(usage)
            return 2
        }
        if let command = commands.first(where: { $0.word == word }) { return command.run(Array(words.dropFirst())) }
        if ["--help", "-h", "help"].contains(word) {
            printLines(usage)
            return 0
        }
        let near = nearestWord(to: word.utf8, in: commands.map { $0.word }).map { "; did you mean '\($0)'?" } ?? ""
        printError("aclfs: \(name) knows no '\(escapedName(word.utf8))'\(near)", usage: usage)
        return 2
    }
}

/// Why a command does nothing, or stops. What it prints has the words of the command before it.
package struct CommandFailure: Error {
    package var message: String
    init(_ message: String) { self.message = message }
}

/// A command whose words the argument parser reads. chmod, ls, chflags and others have the grammar of another program, which it cannot read
/// (docs/decisions/0010-command-lines.md).
protocol ParsedCommand: ParsableCommand, Command {
    /// The exit status of a wrong command line.
    static var wrongUse: Int32 { get }
    /// What help has besides the arguments.
    static var moreHelp: String? { get }
    /// - Returns: the exit status.
    /// - Throws: `CommandFailure` or `ControlError`, whose message is printed; the exit status is 2.
    func perform() throws -> Int32
}

extension ParsedCommand {
    package static var name: String { configuration.commandName ?? "" }
    static var wrongUse: Int32 { 2 }
    static var moreHelp: String? { nil }

    var sink: OutputSink { .standard }

    package static func run(_ words: [[UInt8]]) -> Int32 { run(words) { try $0.perform() } }

    /// Reads the words, and runs the command or prints help.
    static func run(_ words: [[UInt8]], _ body: (Self) throws -> Int32) -> Int32 {
        do {
            // The parser returns another command for --help.
            guard let command = try parseAsRoot(words.map { ByteWord.text($0) }) as? Self else { return printHelp(helpMessage()) }
            return try body(command)
        } catch let error as ControlError {
            printError("aclfs: \(error.message)")
            return 2
        } catch let error as CommandFailure {
            printError("\(name.replacing(" ", with: ": ", maxReplacements: 1)): \(error.message)")
            return 2
        } catch {
            if exitCode(for: error).isSuccess { return printHelp(fullMessage(for: error)) }
            let usage = usageString().split(separator: "\n").joined(separator: "\n       ")
            // The message contains bytes outside UTF-8 as scalars (`ByteWord`).
            let bytes = ByteWord(argument: message(for: error))?.bytes ?? []
            printError("aclfs: \(escapedText(bytes))", usage: "usage: \(usage)")
            return wrongUse
        }
    }

    private static func printHelp(_ text: String) -> Int32 {
        printLines(text + (moreHelp.map { "\n" + $0 } ?? ""))
        return 0
    }
}
