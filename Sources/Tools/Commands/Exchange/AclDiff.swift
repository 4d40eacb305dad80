import ACLFormats
import ArgumentParser
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs acl diff`: where the metadata of two trees, or of a tree and an export, differ (docs/guide/export.md "Comparing").
struct AclDiff: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl diff",
        abstract: "Where lists, flags, owner, group, mode and backup state of two trees differ.",
        usage: "aclfs acl diff [--json] [--names] [--ignore WORD,...] [--offline] [--metadata WHERE] A B")

    @Flag(help: "A line of JSON for each difference.") var json = false
    @Flag(help: "Users and groups of the same name are the same, whatever their numbers are.") var names = false
    @Option(
        help: ArgumentHelp("What is not compared: kind, owner, group, mode, flags, backup, acl.", valueName: "WORD,..."))
    var ignore: String?
    @OptionGroup var backing: BackingOptions
    @Argument(help: ArgumentHelp("A directory, an export, or the output of ls -leR@O on a Mac; - is standard input.", valueName: "A"))
    var before: ByteWord
    @Argument(help: ArgumentHelp("As A.", valueName: "B")) var after: ByteWord

    /// - Returns: the exit status: 0 the same, 1 different, 2 an error, as diff(1).
    func perform() throws(CommandFailure) -> Int32 {
        try AclDiffRun(self, try ExportProperty.set(ofIgnored: ignore), sink).run()
    }
}

/// One comparison: two sources in the same order, of which one object each is in memory.
private final class AclDiffRun {
    /// One side, with the object that comes next.
    private final class Reading {
        let source: any ExportSource
        var object: ExportedObject?
        /// The directory below which the source could not read.
        var unread: [UInt8]?
        /// The directory that only this side has, and that is reported.
        var reported: [UInt8]?

        init(_ source: any ExportSource) { self.source = source }

        func hides(_ path: [UInt8]) -> Bool { unread.map { $0 == path || ExportPath.isBelow(path, $0) } ?? false }
    }

    private let request: AclDiff
    private let ignored: Set<ExportProperty>
    private let sink: OutputSink
    private var isDifferent = false
    private var hasFailed = false

    init(_ request: AclDiff, _ ignored: Set<ExportProperty>, _ sink: OutputSink) {
        (self.request, self.ignored, self.sink) = (request, ignored, sink)
    }

    func run() throws(CommandFailure) -> Int32 {
        if request.before.bytes.elementsEqual("-".utf8), request.after.bytes == request.before.bytes {
            throw CommandFailure("standard input is one export, not two")
        }
        let before = Reading(try source(request.before.bytes))
        let after = Reading(try source(request.after.bytes))
        let names = DifferenceNames(before.source.identities, after.source.identities, comparesNames: request.names)
        let asShown = before.source.header.isAsShown || after.source.header.isAsShown
        try advance(before)
        try advance(after)
        while sink.isOpen() {
            switch (before.object, after.object) {
            case (nil, nil): return hasFailed ? 2 : isDifferent ? 1 : 0
            case (let one?, let other?) where one.path == other.path:
                let pair = (names.comparable(one, .before), names.comparable(other, .after))
                if let difference = Difference(pair.0, pair.1, ignoring: ignored, asShown: asShown, names: names) { report(difference) }
                try advance(before)
                try advance(after)
            case (let one?, let other):
                if let other, ExportPath.precedes(other.path, one.path) {
                    try reportOnly(other, in: after, not: before)
                } else {
                    try reportOnly(one, in: before, not: after)
                }
            case (nil, let other?): try reportOnly(other, in: after, not: before)
            }
        }
        return 1
    }

    private func source(_ path: [UInt8]) throws(CommandFailure) -> any ExportSource {
        let source: any ExportSource
        if try isFile(path) {
            source = try FileSource(FileSource.shownName(path), FileSource.open(path), takesListings: true) { [self] text in fail(text) }
        } else {
            source = try DirectorySource(path, isSorted: true, metadata: request.backing.metadata, isOffline: request.backing.offline)
        }
        return source.header.isOrdered ? source : try SortedSource(source)
    }

    private func isFile(_ path: [UInt8]) throws(CommandFailure) -> Bool {
        if path.elementsEqual("-".utf8) { return true }
        do throws(Errno) {
            let node = try LinuxFiles().open(path, followsLink: true)
            return !(try Syscall.statx(node.rawValue).isDirectory)
        } catch { throw CommandFailure("\(escapedName(path)): \(error.text)") }
    }

    private func advance(_ reading: Reading) throws(CommandFailure) {
        while let item = try reading.source.next() {
            switch item {
            case .object(let object):
                reading.object = object
                return
            case .unread(let path, let reason):
                reading.unread = path
                fail("\(reading.source.name): \(escapedName(path)): \(reason)")
            }
        }
        reading.object = nil
    }

    private func fail(_ text: String) {
        hasFailed = true
        sink.complain(text)
    }

    private func report(_ difference: Difference) {
        isDifferent = true
        if request.json { return sink.output(JSONText.write(.object(difference.json)) + [0x0A]) }
        sink.line(escapedName(difference.path))
        for line in difference.text { sink.line("  \(line)") }
    }

    private func reportOnly(_ object: ExportedObject, in reading: Reading, not other: Reading) throws(CommandFailure) {
        // A listing has no row of its top.
        if object.path == ExportPath.top, other.source.header.isAsShown { return try advance(reading) }
        defer {
            if object.isDirectory, !(reading.reported.map { ExportPath.isBelow(object.path, $0) } ?? false) {
                reading.reported = object.path
            }
        }
        // What the other side could not read may be there.
        if !other.hides(object.path) {
            isDifferent = true
            let side = reading.source.name
            if request.json {
                sink.output(
                    JSONText.write(
                        .object([
                            JSON.path(object.path), .init("change", .string("only")), .init("in", .string(side)),
                            .init("kind", .string(object.kind.exportWord)),
                        ])) + [0x0A])
            } else if !(reading.reported.map { ExportPath.isBelow(object.path, $0) } ?? false) {
                let below = object.isDirectory ? ", with all below it" : ""
                sink.line("only in \(side): \(escapedName(object.path)) (\(object.kind.exportWord)\(below))")
            }
        }
        try advance(reading)
    }
}
