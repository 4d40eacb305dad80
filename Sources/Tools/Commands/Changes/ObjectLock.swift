import BackingStore
import Glibc
import LinuxSystem

/// Keeps other commands from changing an object of a backing directory: without a daemon nothing else makes one change of reading and writing.
struct ObjectLock {
    static let refusal = "another program holds its lock (flock)"
    /// The owner of a file may lock it, too, and must not stop a command of root for ever. In milliseconds.
    private static let longest: UInt32 = 2000

    /// nil: it cannot be locked.
    private let place: SharedDescriptor?

    /// - Parameters:
    ///   - node: any descriptor of the object.
    ///   - status: its status.
    /// - Throws: `busy` if another program does not release it.
    init(_ node: SharedDescriptor, _ status: FileStatus) throws(Errno) {
        guard let place = Self.place(of: node, status) else {
            self.place = nil
            return
        }
        var waited: UInt32 = 0
        while flock(place.rawValue, LOCK_EX | LOCK_NB) != 0 {
            let error = Errno(rawValue: errno)
            guard error == .again || error == .intr else {
                self.place = nil
                return
            }
            if waited >= Self.longest { throw .busy }
            let time = UInt32.random(in: 1...8)
            SystemTime.sleep(milliseconds: time)
            waited += time
        }
        self.place = place
    }

    func release() {
        if let place { flock(place.rawValue, LOCK_UN) }
    }

    /// Files and directories have locks; of any other object its directory has.
    private static func place(of node: SharedDescriptor, _ status: FileStatus) -> SharedDescriptor? {
        let flags = OpenFlag.readOnly | OpenFlag.nonBlock | OpenFlag.noControllingTerminal
        guard status.isRegular || status.isDirectory else {
            guard let path = try? LinuxFiles().absolutePath(of: node),
                let directory = try? LinuxFiles().open(directoryPath(of: path), followsLink: false)
            else { return nil }
            return try? SharedDescriptor(Syscall.reopen(directory.rawValue, flags | OpenFlag.directory))
        }
        let opened = try? OwnersAccess().with(OwnersAccess.reading, on: node.rawValue) { () throws(Errno) in
            SharedDescriptor(try Syscall.reopen(node.rawValue, flags))
        }
        return opened
    }
}
