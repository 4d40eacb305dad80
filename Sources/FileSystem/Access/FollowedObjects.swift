import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import SandboxPolicy
import Synchronization

/// The objects that grants follow, for all mounts of a backing tree (docs/reference/sandbox-zones.md Z16). It tells when one of them may have
/// moved, and under which name a file was last. It decides nothing: a view looks up where an object is (`ViewPolicy.swift`).
public final class FollowedObjects: Sendable {
    private struct State {
        /// nil for a directory, whose path the kernel knows.
        var names: [ObjectKey: LastName?] = [:]
        var whenMoved: @Sendable () -> Void = {}
    }

    private let state = Lock(State())
    private let areAny = Atomic<Bool>(false)
    private let moves = Atomic<UInt64>(0)

    init() {}

    /// How many moves there were after which an object may be elsewhere. It grows under the lock on the files, before the reply.
    var changes: UInt64 { moves.load(ordering: .sequentiallyConsistent) }

    /// Replaces the objects.
    /// - Parameters:
    ///   - names: the objects, with the last names of the files. A name that is known here already is the newer one.
    ///   - whenMoved: called under the lock on the files when one has moved or was removed. It must not wait.
    public func follow(_ names: [ObjectKey: LastName?], whenMoved: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.names = names.reduce(into: [:]) { result, object in
                result.updateValue(state.names[object.key] ?? object.value, forKey: object.key)
            }
            state.whenMoved = whenMoved
        }
        areAny.store(!names.isEmpty, ordering: .sequentiallyConsistent)
        moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    /// Where an object is in a tree now. Of a file with several names the one of the grant counts as long as it is there.
    /// - Parameters:
    ///   - object: as it is stored with the grant.
    ///   - path: the path that is stored with it.
    ///   - tree: on whose file system it is.
    ///   - searches: whether to look for another name in the directory where a file was last.
    public func place(of object: FollowedObject, lastAt path: [[UInt8]], in tree: BackingTree, searches: Bool = false) -> ObjectPlace {
        guard let key = tree.key(of: object), let handle = key.handle else { return .unknown }
        let noted = state.withLock { $0.names[key] ?? nil }
        return tree.place(of: handle, lastNames: [object.lastName(path), noted].compactMap { $0 }, searches: searches)
    }

    // MARK: Names that move

    /// - Returns: whether a followed object may be elsewhere than before: it has moved, or a directory that may lie above it.
    func noteMove(of object: BackingObject, to directory: BackingObject, _ name: UnsafePointer<CChar>) -> Bool {
        guard areAny.load(ordering: .sequentiallyConsistent) else { return false }
        if object.kind == .directory {
            // Below it there may be files, whose names stay as they are.
            moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            return true
        }
        guard let place = directory.key.handle else { return isFollowed(object) }
        let last = LastName(directory: place, name: Array(name.bytes))
        return state.withLock { state in
            guard state.names[object.key] != nil else { return false }
            state.names.updateValue(last, forKey: object.key)
            moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            state.whenMoved()
            return true
        }
    }

    /// - Returns: whether a followed object has lost a name.
    func noteRemoval(of object: BackingObject) -> Bool {
        guard areAny.load(ordering: .sequentiallyConsistent) else { return false }
        return isFollowed(object)
    }

    private func isFollowed(_ object: BackingObject) -> Bool {
        state.withLock { state in
            guard state.names[object.key] != nil else { return false }
            moves.wrappingAdd(1, ordering: .sequentiallyConsistent)
            state.whenMoved()
            return true
        }
    }
}

extension FollowedObject {
    /// - Parameters:
    ///   - key: of the object.
    ///   - isDirectory: whether it is one, and not a file.
    ///   - parent: the directory of a file.
    /// - Returns: nil without a handle.
    public init?(_ key: ObjectKey, isDirectory: Bool, in parent: ObjectKey?) {
        guard let handle = key.handle else { return nil }
        self.init(
            handle: Handle(handle), inode: key.inode, parent: isDirectory ? nil : parent?.handle.map { Handle($0) })
    }

    /// - Parameter path: of the grant. nil for a directory.
    public func lastName(_ path: [[UInt8]]) -> LastName? {
        guard let name = path.last, let directory = parent?.fileHandle else { return nil }
        return LastName(directory: directory, name: name)
    }
}

extension FollowedObject.Handle {
    init(_ handle: FileHandle) { self.init(type: handle.type, bytes: handle.bytes) }

    var fileHandle: FileHandle? { FileHandle(type: type, bytes: bytes) }
}

extension BackingTree {
    /// The key of an object on the root's file system.
    public func key(of object: FollowedObject) -> ObjectKey? {
        object.handle.fileHandle.map { ObjectKey(device: root.key.device, inode: object.inode, handle: $0) }
    }
}
