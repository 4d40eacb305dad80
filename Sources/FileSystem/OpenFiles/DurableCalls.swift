import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization

/// Which changes of a mount are on the disk when their call returns, whatever the call says: the options `sync` and `dirsync`. A mount shares it
/// with its views.
final class SynchronousRule: Sendable {
    private let writes: Atomic<Bool>
    private let names: Atomic<Bool>
    /// The backing mount keeps names so. A creation takes several of its calls, of which it brings only the first to the disk.
    private let isBelow: Bool

    init(_ options: MountOptions, _ tree: BackingTree) {
        isBelow = tree.keepsNamesSynchronously
        writes = Atomic(options.synchronous)
        names = Atomic(isBelow || options.synchronous || options.dirSync)
    }

    /// Applies a remount. Files that are open keep their data path.
    func change(writes newWrites: Bool, names newNames: Bool) {
        writes.store(newWrites, ordering: .relaxed)
        names.store(isBelow || newWrites || newNames, ordering: .relaxed)
    }

    /// `sync`: bytes and attributes.
    var coversWrites: Bool { writes.load(ordering: .relaxed) }
    /// `dirsync`, and `sync` too.
    var coversNames: Bool { names.load(ordering: .relaxed) }
}

/// Brings changes to the disk before their call returns, where the caller or the mount asks for it and the kernel sends no FSYNC
/// (docs/internals/data-path.md "On the disk"). Call without a lock: a disk may take long.
final class DurableCalls: Sendable {
    private let loader: ObjectLoader
    let rule: SynchronousRule

    init(_ rule: SynchronousRule, _ loader: ObjectLoader) { (self.rule, self.loader) = (rule, loader) }

    /// Ends a WRITE.
    /// - Parameters:
    ///   - path: of the handle's data.
    ///   - flags: of the request.
    ///   - descriptor: that was written.
    func finishWrite(on path: DataPath, flags: Int32, _ descriptor: SharedDescriptor) throws(Errno) {
        // Most writes ask for nothing.
        guard flags & OpenFlag.dataSync != 0 || rule.coversWrites else { return }
        // FSYNC follows what the kernel writes to its pages, and does not follow an asynchronous write with O_DIRECT.
        if path == .cached, flags & OpenFlag.direct == 0 { return }
        try finish(descriptor, Durability(flags: flags))
    }

    /// Ends a change of bytes or blocks through a handle, after which the kernel sends no FSYNC.
    func finish(_ descriptor: SharedDescriptor, _ asked: Durability) throws(Errno) {
        switch rule.coversWrites ? max(asked, .data) : asked {
        case .nothing: return
        case .data: try waiting { () throws(Errno) in try Syscall.fdatasync(descriptor.rawValue) }
        case .everything: try waiting { () throws(Errno) in try Syscall.fsync(descriptor.rawValue) }
        }
    }

    /// Ends a change of attributes, or of a size by path.
    func finishChange(of id: NodeID) throws(Errno) {
        guard rule.coversWrites else { return }
        let object = try loader.node(id).object
        try waiting { () throws(Errno) in
            // Of the others an open would have effects, or none is possible.
            if object.kind == .file || object.kind == .directory { try sync(object) }
        }
    }

    /// As above, of a change that `body` makes.
    func change<Value>(_ id: NodeID, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        let value = try body()
        try finishChange(of: id)
        return value
    }

    /// Ends a change of names.
    /// - Parameters:
    ///   - other: the directory that a name was moved from, too.
    ///   - made: an object that has got its first name, with owner, mode and list.
    func finishNames(in directory: NodeID, and other: NodeID? = nil, made: NodeID? = nil) throws(Errno) {
        guard rule.coversNames else { return }
        try waiting { () throws(Errno) in
            let place = try loader.node(directory).object
            if let made = try made.map({ (id) throws(Errno) in try loader.node(id).object }) {
                guard made.kind == .file || made.kind == .directory else { return try syncFileSystem(of: place) }
                try sync(made)
            }
            try sync(place)
            if let other, other != directory { try sync(loader.node(other).object) }
        }
    }

    private func sync(_ object: BackingObject) throws(Errno) {
        let descriptor = try loader.tree.descriptor(of: object)
        let opened: SharedDescriptor
        do throws(Errno) { opened = try open(descriptor) } catch {
            // An ordinary user's daemon may not read the object, or another program has a lease of it.
            guard error == .acces || error == .again else { throw error }
            return try syncFileSystem(of: loader.tree.root)
        }
        try Syscall.fsync(opened.rawValue)
    }

    private func open(_ descriptor: SharedDescriptor) throws(Errno) -> SharedDescriptor {
        SharedDescriptor(
            try Syscall.reopen(descriptor.rawValue, OpenFlag.readOnly | OpenFlag.nonBlock | OpenFlag.noControllingTerminal))
    }

    /// - Parameter directory: on the file system.
    private func syncFileSystem(of directory: BackingObject) throws(Errno) {
        let opened = try open(loader.tree.descriptor(of: directory))
        try Syscall.syncfs(opened.rawValue)
    }
}

/// What a call asks to be on the disk when it returns (docs/internals/data-path.md "On the disk").
enum Durability: UInt8, Comparable {
    case nothing
    /// The bytes, and what is needed to read them: O_DSYNC, RWF_DSYNC, a mount with `sync`.
    case data
    /// All attributes too: O_SYNC, RWF_SYNC.
    case everything

    /// What the flags of OPEN or WRITE say. fcntl(2) changes none of these. In those of WRITE the kernel notes the flags of the call, too.
    init(flags: Int32) {
        // O_SYNC contains O_DSYNC.
        guard flags & OpenFlag.dataSync != 0 else {
            self = .nothing
            return
        }
        self = flags & OpenFlag.sync == OpenFlag.sync ? .everything : .data
    }

    static func < (left: Durability, right: Durability) -> Bool { left.rawValue < right.rawValue }
}
