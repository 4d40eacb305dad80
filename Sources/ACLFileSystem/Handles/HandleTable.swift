import FuseSession
import LinuxSystem

/// The handles that the kernel holds. Ids are never reused.
final class HandleTable: Sendable {
    private enum Entry {
        case file(OpenFile)
        case directory(OpenDirectory)
    }
    private struct State {
        var entries: [HandleID: Entry] = [:]
        var next: UInt64 = 1
    }
    private let state = Lock(State())

    /// Takes the entries of listings that the kernel may not have used yet, to be invalidated singly.
    func takeUnusedNames() -> ExposedEntries {
        let listings = state.withLock { state in
            state.entries.values.compactMap { entry -> UnusedListing? in
                if case .directory(let directory) = entry { directory.listing } else { nil }
            }
        }
        var names = ExposedEntries()
        for listing in listings { names.append(listing.takeUnused()) }
        return names
    }

    func add(_ file: OpenFile) -> HandleID { add(.file(file)) }
    func add(_ directory: OpenDirectory) -> HandleID { add(.directory(directory)) }

    private func add(_ entry: Entry) -> HandleID {
        // The id is chosen under the lock, so that no two handles get the same one.
        state.withLock { state in
            let id = HandleID(state.next)
            state.next += 1
            state.entries[id] = entry
            return id
        }
    }

    func file(_ id: HandleID) throws(Errno) -> OpenFile {
        guard case .file(let file) = state.withLock({ $0.entries[id] }) else { throw .badf }
        return file
    }

    func directory(_ id: HandleID) throws(Errno) -> OpenDirectory {
        guard case .directory(let directory) = state.withLock({ $0.entries[id] }) else { throw .badf }
        return directory
    }

    /// The node of a handle of a file or directory.
    func node(_ id: HandleID) throws(Errno) -> Node {
        switch state.withLock({ $0.entries[id] }) {
        case .file(let file): return file.node
        case .directory(let directory): return directory.node
        case nil: throw .badf
        }
    }

    func hasWritableFile(of node: Node, openedBy uid: UInt32) -> Bool {
        state.withLock { state in
            state.entries.values.contains { entry in
                guard case .file(let file) = entry else { return false }
                return file.node === node && file.isWritable && file.openedBy == uid
            }
        }
    }

    /// Whether any file is open for writing.
    var hasWritableFile: Bool {
        state.withLock { state in
            state.entries.values.contains { entry in
                if case .file(let file) = entry { file.isWritable } else { false }
            }
        }
    }

    func remove(_ id: HandleID) { state.withLock { _ = $0.entries.removeValue(forKey: id) } }
}
