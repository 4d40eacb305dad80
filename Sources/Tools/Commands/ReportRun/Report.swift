import ACLFormats
import ArgumentParser
import Authorization
import ControlProtocol
import Glibc
import Identity
import LinuxSystem
import Mounting
import ToolSupport

/// `aclfs report`: who may do what where, as a page or as lines of JSON (docs/guide/report.md).
struct Report: ParsedCommand, ListedCommand {
    static let summary = "a page: who may do what where"
    static let example = "report -o share.html /srv/share"
    static let configuration = CommandConfiguration(
        commandName: "aclfs report", abstract: "Writes a page that says who may do what in a directory and below it.",
        usage: "aclfs report [--json] [-o FILE] [--force] [--offline] [--metadata WHERE] DIRECTORY")

    @Option(name: .shortAndLong, help: ArgumentHelp("A new file for the page; by default standard output.", valueName: "FILE"))
    var output: ByteWord?
    @Flag(help: "Replace FILE.") var force = false
    @Flag(help: "Lines of JSON instead of a page.") var json = false
    @Flag(help: "Accept a backing directory that is not mounted, too.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory stores its entries, as the mount option metadata=: auto (default), trusted or user.",
            valueName: "WHERE"))
    var metadata: String?
    @Argument(help: ArgumentHelp("On an aclfs mount, or a backing directory that is not mounted.", valueName: "DIRECTORY"))
    var directory: ByteWord

    static let moreHelp: String? = """
        Examples:

          aclfs report -o share.html /srv/share
          aclfs report --json /srv/share
        """

    /// - Returns: the exit status: 0, 1 if something could not be read, 2 if there is no report.
    func perform() throws(CommandFailure) -> Int32 {
        if force, output == nil { throw CommandFailure("--force needs --output") }
        if output == nil, !json, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure("a page is not for a terminal: name a file with --output, or redirect the output")
        }
        // Before the walk, which may take long.
        let file = try output.map { (path) throws(CommandFailure) in try ReportFile(path.bytes, replaces: force) }
        let run = ReportRun(directory.bytes, metadata: metadata, isOffline: offline, sink)
        let report = try run.report()
        var bytes: [UInt8] = []
        if json {
            let lines = ReportLines(report: report, names: run.names)
            if file == nil { lines.write(to: sink.output) } else { lines.write { bytes += $0 } }
        } else {
            bytes = ReportPage.make(
                report, .init(version: ProgramVersion.text, time: run.time), names: run.names)
        }
        if let file { try file.write(bytes) } else if !bytes.isEmpty { sink.output(bytes) }
        if report.unreadableCount > 0 {
            let (paths, them) = (PlaceText.counted(report.unreadableCount, "path"), report.unreadableCount == 1 ? "it" : "them")
            sink.complain("report: \(paths) could not be read; the report names \(them)")
        }
        return report.unreadableCount == 0 ? 0 : 1
    }
}

/// One run of a report.
private final class ReportRun {
    let names = SystemNames()
    private let directory: [UInt8]
    private let metadata: String?
    private let isOffline: Bool
    private let sink: OutputSink

    init(_ directory: [UInt8], metadata: String?, isOffline: Bool, _ sink: OutputSink) {
        (self.directory, self.metadata, self.isOffline, self.sink) = (directory, metadata, isOffline, sink)
    }

    /// The present time, in the time zone of the process.
    var time: String {
        var now = Glibc.time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M %z", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func report() throws(CommandFailure) -> ReportValue {
        let location: MountLocation
        do throws(ControlError) { location = try MountLocation(directory, isFollowed: true) } catch {
            // The path itself is wrong.
            if error.code != nil { throw CommandFailure(error.message) }
            guard isOffline else { throw OfflineTree.refusalUnasked(directory) }
            return try reportOfBackingDirectory()
        }
        if metadata != nil { throw CommandFailure("--metadata is for a backing directory; a mount knows where its entries are") }
        return try report(of: location)
    }

    private func report(of location: MountLocation) throws(CommandFailure) -> ReportValue {
        var place: MountedPlace
        do { place = try MountedPlace(location) } catch { throw CommandFailure("\(escapedName(directory)): \(error.text)") }
        let reader = MountReader(names: names)
        let above = place.readAbove(reader)
        let spool = try walk(place.top, place.status, reader)
        if reader.ignoresACLs { place.ignoreACLs() }
        return try make(place.path, reader, above, place.volume, spool, notes: place.notes)
    }

    private func reportOfBackingDirectory() throws(CommandFailure) -> ReportValue {
        let recordName = try TreeOptions(metadata: metadata).recordNameOffline(of: directory)
        let tree = try OfflineTree(directory, recordName: recordName)
        do throws(CommandFailure) { try tree.requireChangeable { sink.complain("warning: \($0)") } } catch {
            throw CommandFailure("\(error.message), or name a directory on the mount")
        }
        let reader = BackingReader(tree)
        let spool = try walk(tree.top, tree.status, reader)
        var volume = VolumeState()
        let settings = reader.settings(of: tree.top).words
        (volume.ignoresACLs, volume.ignoresOwnership) = (settings.contains("noacl"), settings.contains("noowners"))
        let options = settings.isEmpty ? "the default options" : "its settings \(settings.joined(separator: ", "))"
        let note = "Decided as on a mount of this directory with \(options). Directories above it were not read."
        return try make(tree.path, reader, [], volume, spool, notes: [note])
    }

    private func walk(_ top: SharedDescriptor, _ status: FileStatus, _ reader: any FactsReader) throws(CommandFailure) -> ReportSpool {
        do throws(Errno) {
            let chosen = getenv("TMPDIR").map { String(cString: $0) }
            let spool = try ReportSpool(in: [chosen, "/var/tmp", "/tmp"].compactMap { $0 })
            try ReportWalk(reader, spool, ChangeProgress(sink, isShown: true, total: { nil }), isOpen: sink.isOpen).run(top, status)
            return spool
        } catch { throw CommandFailure("the temporary file of the report (TMPDIR, /var/tmp): \(error.text)") }
    }

    private func make(
        _ path: [UInt8], _ reader: any FactsReader, _ above: [Int], _ volume: VolumeState, _ spool: ReportSpool, notes: [String]
    ) throws(CommandFailure) -> ReportValue {
        let classes = reader.classes.all
        let subjects = ReportSubjects(of: classes, from: SystemAccounts())
        var notes = notes + reader.notes
        if subjects.isIncomplete {
            notes.append("The account databases did not answer about some users: these count as users without an account.")
        }
        var builder = ReportBuilder(VerdictMaker(classes: classes, subjects: subjects, volume: volume), above: above)
        do throws(Errno) { try spool.forEach { builder.take($0) } } catch {
            throw CommandFailure("the temporary file of the report: \(error.text)")
        }
        guard let report = builder.report(of: path, notes: notes) else {
            throw CommandFailure("\(escapedName(path)): \(builder.topFailure ?? "cannot be read")")
        }
        return report
    }
}
