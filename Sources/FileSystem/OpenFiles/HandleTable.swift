import FuseSession
import LinuxSystem

/// The handles that the kernel holds. Ids are never reused.
final class HandleTable: Sendable {
    private enum OpenObject {
        case file(OpenFile)
        case directory(OpenDirectory)
    }
    private struct State {
        var objects: [HandleID: OpenObject] = [:]
        /// Those with `isHandedOver`. A node has one at most: the handle that made its object.
        var handedOver: [ObjectIdentifier: OpenFile] = [:]
        var next: UInt64 = 1
    }
    private let state = Lock(State())

    /// Takes the entries of listings that the kernel may not have used yet, to be invalidated singly.
    func takeUnusedNames() -> ExposedEntries {
        let listings = state.withLock { state in
            state.objects.values.compactMap { object -> UnusedListing? in
                if case .directory(let directory) = object { directory.listing } else { nil }
            }
        }
        var names = ExposedEntries()
        for listing in listings { names.append(listing.takeUnused()) }
        return names
    }

    func add(_ file: OpenFile) -> HandleID { add(.file(file)) }
    func add(_ directory: OpenDirectory) -> HandleID { add(.directory(directory)) }

    private func add(_ object: OpenObject) -> HandleID {
        // The id is chosen under the lock, so that no two handles get the same one.
        state.withLock { state in
            let id = HandleID(state.next)
            state.next += 1
            state.objects[id] = object
            if case .file(let file) = object, file.isHandedOver { state.handedOver[ObjectIdentifier(file.node)] = file }
            return id
        }
    }

    func file(_ id: HandleID) throws(Errno) -> OpenFile {
        guard case .file(let file) = state.withLock({ $0.objects[id] }) else { throw .badf }
        return file
    }

    func directory(_ id: HandleID) throws(Errno) -> OpenDirectory {
        guard case .directory(let directory) = state.withLock({ $0.objects[id] }) else { throw .badf }
        return directory
    }

    /// The node of a handle of a file or directory.
    func node(_ id: HandleID) throws(Errno) -> Node {
        switch state.withLock({ $0.objects[id] }) {
        case .file(let file): return file.node
        case .directory(let directory): return directory.node
        case nil: throw .badf
        }
    }

    func hasWritableFile(of node: Node, openedBy uid: UInt32) -> Bool {
        state.withLock { state in
            state.objects.values.contains { object in
                guard case .file(let file) = object else { return false }
                return file.node === node && file.isWritable && file.openedBy == uid
            }
        }
    }

    /// Whether any file is open for writing.
    var hasWritableFile: Bool {
        state.withLock { state in
            state.objects.values.contains { object in
                if case .file(let file) = object { file.isWritable } else { false }
            }
        }
    }

    /// The open handle by which this user made the object of a node and gave it away.
    func handedOver(_ node: Node, by uid: UInt32) -> OpenFile? {
        state.withLock { $0.handedOver[ObjectIdentifier(node)] }.flatMap { $0.openedBy == uid ? $0 : nil }
    }

    func remove(_ id: HandleID) {
        state.withLock { state in
            guard case .file(let file) = state.objects.removeValue(forKey: id), file.isHandedOver else { return }
            state.handedOver.removeValue(forKey: ObjectIdentifier(file.node))
        }
    }
}
