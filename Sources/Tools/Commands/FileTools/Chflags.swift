import ACLFormats
import Authorization
import Glibc
import LinuxSystem
import ToolSupport

/// A command line of chflags.
package struct ChflagsArguments: Sendable, Hashable {
    package var change: FileFlagsChange
    package var walk = WalkOptions()
    package var isQuiet = false
    package var verbosity = 0
    package var paths: [[UInt8]] = []

    package static let usage = "usage: aclfs chflags [-fhvx] [-R [-H | -L | -P]] FLAGS FILE..."

    /// - Parameter arguments: after the command's name.
    /// - Returns: `nil` for help.
    /// - Throws: the command line is wrong.
    package static func parse(_ arguments: [[UInt8]]) throws(UsageError) -> ChflagsArguments? {
        let options = try LetterOptions(arguments, known: "RHLPhfvx", long: LongOption.ofTrees)
        if options.wantsHelp { return nil }
        guard let text = options.operands.first else { throw UsageError("no flags are given") }
        var parsed: ChflagsArguments
        do { parsed = ChflagsArguments(change: try FileFlagsText.parseChange(text)) } catch {
            throw UsageError("'\(escapedName(text))': \(error.message)")
        }
        for letter in options.letters where !parsed.walk.take(letter) {
            if letter == UInt8(ascii: "f") { parsed.isQuiet = true } else { parsed.verbosity += 1 }
        }
        parsed.walk = try parsed.walk.checked()
        parsed.paths = files(options.operands.dropFirst(), isEnded: options.isEnded)
        if parsed.paths.isEmpty { throw UsageError("no file is given after '\(escapedName(text))'") }
        return parsed
    }
}

/// `aclfs chflags`: macOS' chflags(1) (docs/reference/authorization.md 6.6).
enum Chflags: ListedCommand {
    static let name = "aclfs chflags"
    static let summary = "change BSD file flags"
    static let example = "chflags uchg plans"
    static func run(_ words: [[UInt8]]) -> Int32 { runChflags(arguments: words, sink: .standard, files: LinuxFiles()) }
}

/// `explain` asks about no values, so its answer does not have this rule (docs/reference/authorization.md 6.6).
/// - Returns: which of the flags need CAP_LINUX_IMMUTABLE, as a sentence; nil: none.
private func rootsFlags(in changed: FileFlags) -> String? {
    let words = FileFlagName.all.filter { changed.contains($0.flag) && !FileFlags.userSettable.contains($0.flag) }.compactMap(\.words.first)
    guard !words.isEmpty else { return nil }
    return "only a caller with CAP_LINUX_IMMUTABLE (root outside of containers) can set and clear \(words.joined(separator: ","))"
}

/// The same with other files, for tests.
package func runChflags<Files: ToolFiles>(arguments: [[UInt8]], sink: OutputSink, files: Files) -> Int32 {
    let parsed: ChflagsArguments
    do {
        guard let known = try ChflagsArguments.parse(arguments) else {
            sink.lines(ChflagsHelp.text)
            return 0
        }
        parsed = known
    } catch {
        sink.complain("chflags: \(error.message)", usage: ChflagsArguments.usage)
        return 1
    }
    var status: Int32 = 0
    // -f silences what could not be changed, exit status included.
    func refuse(_ path: [UInt8], _ reason: @autoclosure () -> String) {
        if parsed.isQuiet { return }
        status = 1
        sink.complain(path, reason())
    }
    func change(_ node: Files.Node, _ path: [UInt8], _ kind: ObjectKind) {
        let before: FileFlags
        do { before = try files.flags(of: node) } catch {
            return refuse(path, error.isUnsupported ? error.flagsMessage : files.message(error, of: .stat, on: node, path))
        }
        let after = parsed.change.applied(to: before)
        // Without a change there is no request, and so no refusal.
        if after.symmetricDifference(before).subtracting(.synthetic).isEmpty { return }
        do { try files.changeFlags(of: node, from: before, to: after) } catch {
            let text = files.message(error, of: .chflags, on: node, path, storedOn: kind)
            let changed = after.symmetricDifference(before).subtracting(.synthetic)
            return refuse(path, text == Errno.perm.text ? text + (rootsFlags(in: changed).map { ": \($0)" } ?? "") : text)
        }
        switch parsed.verbosity {
        case 0: break
        case 1: sink.line(escapedName(path))
        default: sink.line("\(escapedName(path)): 0\(octal(before.rawValue)) -> 0\(octal(after.rawValue))")
        }
    }
    TreeWalk(files: files, options: parsed.walk, fail: { refuse($0, $1) }) { node, path, object in
        change(node, path, object.kind)
        return true
    }.run(parsed.paths)
    return status
}
