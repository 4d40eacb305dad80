import ACLFormats
import ArgumentParser
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// `aclfs purge`: removes what has not been used for some time from the caches of containers (docs/guide/backup.md "Purging").
struct Purge: ParsedCommand, ListedCommand {
    static let summary = "remove old files from caches of containers"
    static let example = "purge --older-than 3d /srv/share"
    static let configuration = CommandConfiguration(
        commandName: "aclfs purge", abstract: "Removes old files from tmp and Library/Caches of the containers at and below PATH.",
        usage: "aclfs purge [--older-than AGE] [--dry-run] [--json] [--verbose] PATH ...")

    @Option(
        help: ArgumentHelp(
            "Remove what was neither read nor changed for this long: 30m, 12h, 3d or 2w; by default \(Purge.usualAge).",
            valueName: "AGE"))
    var olderThan: String?
    @Flag(help: "Print what would be removed, and remove nothing.") var dryRun = false
    @Flag(help: "One line of JSON for each object.") var json = false
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is removed.") var verbose = false
    @Argument(help: ArgumentHelp("Containers, or directories that hold some, on an aclfs mount.", valueName: "PATH"))
    var paths: [ByteWord]

    private static let usualAge = "3d"

    /// - Returns: the exit status: 0; 1 if something could not be removed, or a container that was named is in use; 2 if nothing was done.
    func perform() -> Int32 {
        let word = olderThan ?? Self.usualAge
        guard let age = Self.age(word) else {
            printError("aclfs: purge: '\(word)' is no age; 30m, 12h, 3d and 2w are some")
            return 2
        }
        var operands: [(path: [UInt8], mount: MountEntry, node: SharedDescriptor)] = []
        for path in paths.map(\.bytes) {
            do {
                let location = try MountLocation(path)
                let node = try LinuxFiles().open(path, followsLink: false)
                guard try LinuxFiles().status(of: node).isDirectory else { throw Errno.notdir }
                operands.append((try LinuxFiles().absolutePath(of: node), location.entry, node))
            } catch let error as ControlError {
                sink.complain("purge: \(error.message)")
                return 2
            } catch {
                sink.complain(path, (error as? Errno ?? .io).text)
                return 2
            }
        }
        let report = PurgeReport(sink, isDryRun: dryRun, isVerbose: verbose, json: json)
        var uses: [UInt64: ContainerUse] = [:]
        for operand in operands {
            let use = uses[operand.mount.id] ?? ContainerUse(of: operand.mount)
            if use.isRefused, uses.isEmpty {
                report.note("purge: sandbox views are not checked: only root and the user who mounted may ask for them")
            }
            uses[operand.mount.id] = use
            PurgeWalk(report, isDryRun: dryRun, limit: SystemTime.now().sec - age, use).run(operand.node, operand.path)
        }
        report.summarize()
        return report.exitStatus
    }

    /// - Parameter text: a number and a unit, as `3d`.
    /// - Returns: seconds; nil if it is no age.
    static func age(_ text: String) -> Int64? {
        guard let unit = text.last, let length: Int64 = ["s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800][unit] else { return nil }
        let digits = text.dropLast()
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int64(digits), count < 1 << 32 else { return nil }
        return count * length
    }
}

/// Finds the containers at and below a directory, and purges each.
private struct PurgeWalk {
    private typealias Descent = TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>

    private let files = LinuxFiles(staysBeneath: true)
    private let report: PurgeReport
    private let isDryRun: Bool
    private let use: ContainerUse
    /// Seconds since 1970: what was used since stays.
    private let limit: Int64

    init(_ report: PurgeReport, isDryRun: Bool, limit: Int64, _ use: ContainerUse) {
        (self.report, self.isDryRun, self.limit, self.use) = (report, isDryRun, limit, use)
    }

    func run(_ top: SharedDescriptor, _ path: [UInt8]) {
        var descent = Descent(files, top, of: path, followsLinks: false)
        do throws(Errno) {
            let status = try Syscall.statx(top.rawValue)
            try purgeIfDeclared(top, path, status, isNamed: true)
            descent.enter(top, named: [], ObjectIdentity(device: status.device, inode: status.inode), StreamedNames(files))
        } catch { return report.fail(path, error.text) }
        descent.walk(fail: { report.fail($0, $1) }) { descent, name, directory in
            do throws(Errno) {
                let node = try files.open(name, in: directory, followsLink: false)
                let status = try Syscall.statx(node.rawValue)
                guard status.isDirectory else { return true }
                try purgeIfDeclared(node, descent.path(of: name), status, isNamed: false)
                descent.enter(node, named: name, ObjectIdentity(device: status.device, inode: status.inode), StreamedNames(files))
            } catch {
                // Removed meanwhile, or mounted there.
                if error != .noent, error != .xdev { report.fail(descent.path(of: name), error.text) }
            }
            return true
        }
    }

    private func purgeIfDeclared(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus, isNamed: Bool) throws(Errno) {
        let value: [UInt8]?
        do throws(Errno) { value = try files.attribute(DeclaredLayout.attributeName, of: node) } catch {
            // A caller who may not read attributes finds no container.
            if error == .acces || error == .perm { return }
            throw error
        }
        guard value.flatMap({ DeclaredLayout(value: $0) }) != nil else { return }
        let uses = use.uses(of: path)
        guard uses.isEmpty else { return report.skip(path, uses, isNamed: isNamed) }
        let owner = try SoleOwner(of: node, status, files)
        report.beginContainer()
        for place in DeclaredLayout.purgeablePlaces {
            PurgePlace(report, isDryRun: isDryRun, limit: limit, owner: owner).purge(place, of: node, path)
        }
    }
}
