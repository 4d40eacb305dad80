import Glibc
import LinuxSystem

/// The number of objects of a tree, counted by a thread of its own for the remaining time on a terminal.
final class ObjectCount: Sendable {
    private let counted = Lock<Int?>(nil)

    /// nil until all are counted.
    var number: Int? { counted.withLock { $0 } }

    /// - Parameter top: the directory.
    func begin(_ top: SharedDescriptor) {
        _ = try? Thread.start(name: "aclfs-count") { [self] in
            guard let status = try? Syscall.statx(top.rawValue), status.isDirectory else { return }
            let number = Self.count(top, status)
            counted.withLock { $0 = number }
        }
    }

    private static func count(_ top: SharedDescriptor, _ status: FileStatus) -> Int {
        let files = LinuxFiles(staysBeneath: true)
        let tally = Tally()
        var descent = TreeDescent<LinuxFiles, CountedNames>(files, top, of: UndoEntry.topPath, followsLinks: false, levels: 8)
        descent.enter(top, named: [], ObjectIdentity(device: status.device, inode: status.inode), CountedNames(files, tally))
        descent.walk(fail: { _, _ in }) { descent, name, directory in
            guard let node = try? files.open(name, in: directory, followsLink: false), let status = try? Syscall.statx(node.rawValue),
                status.isDirectory
            else { return true }
            descent.enter(node, named: name, ObjectIdentity(device: status.device, inode: status.inode), CountedNames(files, tally))
            return true
        }
        return tally.number
    }
}

private final class Tally { var number = 1 }

/// The names of a directory, all of which are counted. Only those that may be directories are visited.
private struct CountedNames: LevelNames {
    private let files: LinuxFiles
    private let tally: Tally
    private var listing: DirectoryListing?
    private var position: Int64 = 0

    init(_ files: LinuxFiles, _ tally: Tally) { (self.files, self.tally) = (files, tally) }

    mutating func next(in directory: SharedDescriptor) throws(Errno) -> [UInt8]? {
        let opened: DirectoryListing
        if let listing { opened = listing } else { opened = try files.listing(of: directory, from: position) }
        listing = opened
        while let entry = try opened.nextEntry() {
            tally.number += 1
            if entry.type == UInt8(DT_DIR) || entry.type == UInt8(DT_UNKNOWN) { return entry.name }
        }
        return nil
    }

    mutating func suspend() {
        position = listing?.position ?? position
        listing = nil
    }
}
