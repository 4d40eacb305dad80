import ACLFormats
import Glibc
import LinuxSystem
import SandboxPolicy

/// Removes what is old below a purgeable directory of a container. The directory itself stays.
///
/// The owner of the container may write there meanwhile, so that each name is opened by openat2(2) in the directory above: no symlink, `..`
/// or mount leads out.
final class PurgePlace {
    private typealias Descent = TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>

    /// A directory that the walk is in.
    private struct Level {
        var isRemovable: Bool
        /// Something in it stays.
        var holdsMore = false
    }

    private let files = LinuxFiles(staysBeneath: true)
    private let report: PurgeReport
    private let isDryRun: Bool
    /// Objects with a later time stay.
    private let limit: Int64
    /// Of objects that may be removed; nil: of all.
    private let owner: SoleOwner?
    private var levels: [Level] = []

    /// - Parameters:
    ///   - limit: seconds since 1970.
    ///   - owner: of the container. Root removes nothing of others: who may declare a layout need not be allowed to remove that.
    init(_ report: PurgeReport, isDryRun: Bool, limit: Int64, owner: SoleOwner) {
        (self.report, self.isDryRun, self.limit) = (report, isDryRun, limit)
        self.owner = geteuid() == 0 ? owner : nil
    }

    /// - Parameters:
    ///   - place: names from the container.
    ///   - container: the open directory.
    ///   - path: of the container.
    func purge(_ place: [[UInt8]], of container: SharedDescriptor, _ path: [UInt8]) {
        var (node, path) = (container, path)
        do throws(Errno) {
            for name in place {
                node = try files.open(name, in: node, followsLink: false)
                path = joinedPath(path, name)
            }
            let status = try Syscall.statx(node.rawValue)
            guard status.isDirectory else { return }
            levels = [Level(isRemovable: false)]
            walk(node, path, status)
        } catch {
            // An application need not have made it. A symlink or a mount in its place is none.
            if error != .noent, error != .notdir, error != .loop, error != .xdev { report.fail(path, error.text) }
        }
    }

    private func walk(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus) {
        var descent = Descent(files, node, of: path, followsLinks: false)
        descent.enter(node, named: [], Self.identity(status), StreamedNames(files))
        descent.walk(
            fail: { self.report.fail($0, $1) },
            visit: { descent, name, directory in
                self.visit(name, in: directory, &descent)
                return true
            },
            left: { descent, name, isComplete in self.leave(name, isComplete, &descent) })
    }

    private func visit(_ name: [UInt8], in directory: SharedDescriptor, _ descent: inout Descent) {
        do throws(Errno) {
            let node = try files.open(name, in: directory, followsLink: false)
            let status = try Syscall.statx(node.rawValue)
            guard status.isDirectory else {
                guard belongsToContainer(node, status), Self.lastUse(of: status) <= limit else { return keep() }
                if !isDryRun { try Self.unlink(name, in: directory) }
                return report.remove(descent.path(of: name), freeing: status.nlink == 1 ? status.blocks * 512 : 0)
            }
            // Read before its content is removed, which is a change of the directory.
            levels.append(Level(isRemovable: belongsToContainer(node, status) && max(status.mtime, status.ctime).sec <= limit))
            descent.enter(node, named: name, Self.identity(status), StreamedNames(files))
        } catch {
            // Removed meanwhile.
            if error == .noent { return }
            keep()
            if error != .xdev { report.fail(descent.path(of: name), error.text) }
        }
    }

    private func leave(_ name: [UInt8], _ isComplete: Bool, _ descent: inout Descent) {
        guard let level = levels.popLast() else { return }
        guard isComplete, level.isRemovable, !level.holdsMore else { return keep() }
        do throws(Errno) {
            if !isDryRun {
                guard let directory = try descent.directory() else { return }
                try Self.unlink(name, in: directory, flags: AtFlag.removeDirectory)
            }
            report.remove(descent.path(of: name), freeing: 0)
        } catch {
            keep()
            // Something was put in.
            if error != .notempty, error != .exist, error != .noent { report.fail(descent.path(of: name), error.text) }
        }
    }

    private func keep() {
        if let last = levels.indices.last { levels[last].holdsMore = true }
    }

    /// False where the owner cannot be learned.
    private func belongsToContainer(_ node: SharedDescriptor, _ status: FileStatus) -> Bool {
        guard let owner else { return true }
        return (try? SoleOwner(of: node, status, files)) == owner
    }

    /// In seconds since 1970.
    private static func lastUse(of status: FileStatus) -> Int64 { max(status.mtime, status.ctime, status.atime).sec }

    private static func unlink(_ name: [UInt8], in directory: SharedDescriptor, flags: Int32 = 0) throws(Errno) {
        try name.withCString { (name) throws(Errno) in try Syscall.unlinkat(directory.rawValue, name, flags: flags) }
    }

    private static func identity(_ status: FileStatus) -> ObjectIdentity { ObjectIdentity(device: status.device, inode: status.inode) }
}
