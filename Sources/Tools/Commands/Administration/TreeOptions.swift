import ACLFormats
import ArgumentParser
import Glibc

/// The options that all commands share that change the objects of a tree. Paths are bytes.
struct TreeOptions {
    var undoFile: [UInt8]?
    /// Whether the undo file of an interrupted run is continued.
    var resumes = false
    var isDryRun = false
    /// Also objects with names that the walk does not meet.
    var includesHardLinks = false
    var isVerbose = false
    var json = false
    /// `auto`, `trusted` or `user`, as the mount option.
    var metadata: String?
    /// Also a path that lies on no mount.
    var isOffline = false
    /// nil: as many as there are processors.
    var workers: Int?

    func recordName() throws(CommandFailure) -> String? {
        switch metadata {
        case nil, "auto": return nil
        case "trusted": return "trusted.aclfs"
        case "user": return "user.aclfs"
        case let word?: throw CommandFailure("--metadata: '\(escapedName(word.utf8))' is not one of auto, trusted and user")
        }
    }

    /// - Parameter operand: a path that is on no mount.
    /// - Throws: the caller is not root, and does not say that the records are those of its own mounts: it would find no list, and
    ///   change what no mount of root reads.
    func recordNameOffline(of operand: [UInt8]) throws(CommandFailure) -> String? {
        let name = try recordName()
        if name == nil, geteuid() != 0 {
            throw CommandFailure(
                "\(escapedName(operand)) is not on an aclfs mount, and only root can read all that a backing directory stores; "
                    + "--metadata user works on what your own mounts stored")
        }
        return name
    }

    func check() throws(CommandFailure) {
        if isDryRun, undoFile != nil {
            throw CommandFailure("--dry-run changes nothing, so it writes no undo file: use one of the two")
        }
        if resumes, undoFile == nil { throw CommandFailure("--resume continues an undo file: name it with --undo-file") }
        if let workers, !(1...Self.mostWorkers).contains(workers) {
            throw CommandFailure("--workers: \(workers) is not a number from 1 to \(Self.mostWorkers)")
        }
    }

    private static let mostWorkers = 64
    /// With one the objects are named in the order of the walk.
    var threads: Int { isDryRun || isVerbose || json ? 1 : workers ?? min(Self.processors, 8) }
    private static var processors: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}

/// Of commands that also take a backing directory.
struct BackingOptions: ParsableArguments {
    @Flag(help: "Accept a backing directory that is not mounted, too.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where a backing directory stores its entries, as the mount option metadata=: auto (default), trusted or user.",
            valueName: "WHERE"))
    var metadata: String?
}

/// The same, as words of the command line.
struct WalkArguments: ParsableArguments {
    @Flag(help: "Print what would change, and change nothing.") var dryRun = false
    @Option(help: ArgumentHelp("A new file, from which aclfs restore undoes the changes.", valueName: "FILE")) var undoFile: ByteWord?
    @Flag(help: "Go on with the undo file of a run that was interrupted.") var resume = false
    @Flag(help: "Also objects with hard links outside of the tree.") var hardLinks = false
    @OptionGroup var backing: BackingOptions
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is changed, with its entries.") var verbose = false
    @Flag(help: "One line of JSON for each object.") var json = false

    var options: TreeOptions { options(workers: nil) }

    fileprivate func options(workers: Int?) -> TreeOptions {
        TreeOptions(
            undoFile: undoFile?.bytes, resumes: resume, isDryRun: dryRun, includesHardLinks: hardLinks, isVerbose: verbose, json: json,
            metadata: backing.metadata, isOffline: backing.offline, workers: workers)
    }
}

/// The same, of a command whose walk has several threads.
struct TreeArguments: ParsableArguments {
    @OptionGroup var walk: WalkArguments
    @Option(help: ArgumentHelp("The number of threads; by default that of the processors.", valueName: "NUMBER")) var workers: Int?

    var options: TreeOptions { walk.options(workers: workers) }
}

let treeUsage = "[--dry-run|--undo-file FILE [--resume]] [--json] [-v] [--hard-links] [--workers NUMBER] [--offline] [--metadata WHERE]"
let treePlace = "On a mount, or in a backing directory that is not mounted."
