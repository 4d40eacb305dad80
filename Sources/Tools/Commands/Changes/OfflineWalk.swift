import LinuxSystem

/// Visits each object of a backing directory, itself included, a directory before its contents.
///
/// Other users may write to the tree. Each directory is held by its descriptor and each name is opened by openat2(2): no symlink, `..` or
/// mount leads out. An object is judged and changed by one descriptor. Memory does not depend on the number of objects.
struct OfflineWalk {
    /// What a visit asks for.
    enum Step {
        /// Go on, and into a directory.
        case enter
        /// Go on, and not into this directory.
        case skip
        case stop
    }

    let top: SharedDescriptor
    let status: FileStatus
    /// Called with the path of what cannot be read, and the reason.
    let fail: ([UInt8], String) -> Void
    /// Called with the object, its path below the top (`.` for the top) and its status.
    let visit: (SharedDescriptor, [UInt8], FileStatus) -> Step

    func run() {
        guard visit(top, UndoEntry.topPath, status) == .enter else { return }
        let files = LinuxFiles(staysBeneath: true)
        var descent = TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>(files, top, of: UndoEntry.topPath, followsLinks: false)
        descent.enter(top, named: [], identity(status), StreamedNames(files))
        descent.walk(fail: fail) { descent, name, directory in meet(name, in: directory, files, &descent) }
    }

    private func meet(
        _ name: [UInt8], in directory: SharedDescriptor, _ files: LinuxFiles,
        _ descent: inout TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>
    ) -> Bool {
        let path = descent.below.isEmpty ? name : joinedPath(descent.below, name)
        do throws(Errno) {
            let node = try files.open(name, in: directory, followsLink: false)
            // Of a mount the kernel has this from the listing, and no time of birth.
            let status = try Syscall.statx(node.rawValue, mask: StatMask.basic)
            let step = visit(node, path, status)
            if step == .stop { return false }
            if step == .enter, status.isDirectory { descent.enter(node, named: name, identity(status), StreamedNames(files)) }
        } catch {
            switch error {
            // Removed since the directory was read.
            case .noent: break
            case .xdev: fail(path, "another file system is mounted here, and was not entered")
            default: fail(path, error.text)
            }
        }
        return true
    }

    private func identity(_ status: FileStatus) -> ObjectIdentity { ObjectIdentity(device: status.device, inode: status.inode) }
}
