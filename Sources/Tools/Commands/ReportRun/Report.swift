import ACLFormats
import Authorization
import ControlProtocol
import Glibc
import Identity
import LinuxSystem
import Mounting
import ToolSupport

/// A command line of `aclfs report`. Paths are bytes.
package struct ReportRequest {
    var directory: [UInt8]
    /// nil: standard output.
    var output: [UInt8]?
    /// Whether a file is replaced.
    var isForced: Bool
    var json: Bool
    /// `auto`, `trusted` or `user`, as the mount option; for a backing directory.
    var metadata: String?
    /// Also a directory that lies on no mount.
    var isOffline: Bool

    package init(directory: [UInt8], output: [UInt8]?, isForced: Bool, json: Bool, metadata: String?, isOffline: Bool) {
        (self.directory, self.output, self.isForced) = (directory, output, isForced)
        (self.json, self.metadata, self.isOffline) = (json, metadata, isOffline)
    }
}

/// `aclfs report`: who may do what where, as a page or as lines of JSON (docs/guide/report.md).
package enum Report {
    /// - Returns: the exit status: 0, 1 if something could not be read, 2 if there is no report.
    package static func perform(_ request: ReportRequest, sink: OutputSink = .standard) -> Int32 {
        do throws(TreeRefusal) {
            if request.isForced, request.output == nil { throw TreeRefusal("--force needs --output") }
            if request.output == nil, !request.json, isatty(STDOUT_FILENO) == 1 {
                throw TreeRefusal("a page is not for a terminal: name a file with --output, or redirect the output")
            }
            // Before the walk, which may take long.
            let file = try request.output.map { (path) throws(TreeRefusal) in try ReportFile(path, replaces: request.isForced) }
            let run = try ReportRun(request, sink)
            let report = try run.report()
            var bytes: [UInt8] = []
            if request.json {
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
        } catch {
            sink.complain("report: \(error.message)")
            return 2
        }
    }
}

/// One run of a report.
private final class ReportRun {
    let names = SystemNames()
    private let request: ReportRequest
    private let sink: OutputSink

    init(_ request: ReportRequest, _ sink: OutputSink) throws(TreeRefusal) { (self.request, self.sink) = (request, sink) }

    /// The present time, in the time zone of the process.
    var time: String {
        var now = Glibc.time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M %z", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func report() throws(TreeRefusal) -> ReportValue {
        let location: MountLocation
        do throws(ControlError) { location = try MountLocation(request.directory, isFollowed: true) } catch {
            // The path itself is wrong.
            if error.code != nil { throw TreeRefusal(error.message) }
            guard request.isOffline else { throw OfflineTree.refusalUnasked(request.directory) }
            return try reportOfBackingDirectory()
        }
        if request.metadata != nil { throw TreeRefusal("--metadata is for a backing directory; a mount knows where its entries are") }
        return try report(of: location)
    }

    private func report(of location: MountLocation) throws(TreeRefusal) -> ReportValue {
        var place: MountedPlace
        do { place = try MountedPlace(location) } catch { throw TreeRefusal("\(escapedName(request.directory)): \(error.text)") }
        let reader = MountReader(names: names)
        let above = place.readAbove(reader)
        let spool = try walk(place.top, place.status, reader)
        if reader.ignoresACLs { place.ignoreACLs() }
        return try make(place.path, reader, above, place.volume, spool, notes: place.notes)
    }

    private func reportOfBackingDirectory() throws(TreeRefusal) -> ReportValue {
        let recordName = try TreeOptions(metadata: request.metadata).recordNameOffline(of: request.directory)
        let tree = try OfflineTree(request.directory, recordName: recordName)
        do throws(TreeRefusal) { try tree.requireChangeable { sink.complain("warning: \($0)") } } catch {
            throw TreeRefusal("\(error.message), or name a directory on the mount")
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

    private func walk(_ top: SharedDescriptor, _ status: FileStatus, _ reader: any FactsReader) throws(TreeRefusal) -> ReportSpool {
        do throws(Errno) {
            let chosen = getenv("TMPDIR").map { String(cString: $0) }
            let spool = try ReportSpool(in: [chosen, "/var/tmp", "/tmp"].compactMap { $0 })
            try ReportWalk(reader, spool, ChangeProgress(sink, isShown: true, total: { nil }), isOpen: sink.isOpen).run(top, status)
            return spool
        } catch { throw TreeRefusal("the temporary file of the report (TMPDIR, /var/tmp): \(error.text)") }
    }

    private func make(
        _ path: [UInt8], _ reader: any FactsReader, _ above: [Int], _ volume: VolumeState, _ spool: ReportSpool, notes: [String]
    ) throws(TreeRefusal) -> ReportValue {
        let classes = reader.classes.all
        let subjects = ReportSubjects(of: classes, from: SystemAccounts())
        var notes = notes + reader.notes
        if subjects.isIncomplete {
            notes.append("The account databases did not answer about some users: these count as users without an account.")
        }
        var builder = ReportBuilder(VerdictMaker(classes: classes, subjects: subjects, volume: volume), above: above)
        do throws(Errno) { try spool.forEach { builder.take($0) } } catch {
            throw TreeRefusal("the temporary file of the report: \(error.text)")
        }
        guard let report = builder.report(of: path, notes: notes) else {
            throw TreeRefusal("\(escapedName(path)): \(builder.topFailure ?? "cannot be read")")
        }
        return report
    }
}
