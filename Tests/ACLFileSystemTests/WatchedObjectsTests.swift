import BackingStore
import Glibc
import LinuxSystem
import Testing

@testable import ACLFileSystem

/// docs/decisions/0025-watching-objects-at-rest.md
@Suite(.enabled(if: getuid() == 0, "events need root"))
struct WatchedObjectsTests {
    private let directory: SharedDescriptor
    private let path: String
    private let tree: BackingTree

    init() throws {
        var template = Array("/var/tmp/aclfs-watched.XXXXXX".utf8CString)
        #expect(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        directory = SharedDescriptor(try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory))
        tree = try BackingTree(
            directory: Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs", descriptorBudget: 64,
            report: { _ in })
    }

    private func withFiles(_ names: [String], _ body: ([ResolvedObject]) throws -> Void) throws {
        defer {
            for name in names { unlinkat(directory.rawValue, name, 0) }
            rmdir(path)
        }
        try body(
            names.map { name in
                _ = try Syscall.openat(directory.rawValue, name, OpenFlag.create | OpenFlag.readWrite, mode: 0o644)
                return try tree.resolve(name, in: directory, Syscall.statx(directory.rawValue))
            })
    }

    @Test func theirMemoryIsLimited() throws {
        try withFiles(["a", "b", "c", "d"]) { files in
            let watched = WatchedObjects(capacity: 3)
            watched.use(try FileEvents())
            let second: UInt64 = 1_000_000_000
            func begin(_ index: Int, at now: UInt64) -> WatchedObjects.Watch? {
                watched.begin(files[index].object, files[index].descriptor.rawValue, in: tree, at: now)
            }
            for index in 0..<3 { #expect(begin(index, at: UInt64(index) * 10 * second) != nil) }
            #expect(watched.usage.objects == 3)
            #expect(watched.usage.bytes == 3 * WatchedObjects.bytesForEach)
            // All are young.
            #expect(watched.makeRoom(at: 30 * second).isEmpty)
            #expect(begin(3, at: 30 * second) == nil)
            // A watch that has lasted a minute makes room; it is told, so that its attributes are invalidated.
            #expect(watched.makeRoom(at: 61 * second).map { $0.object.key } == [files[0].object.key])
            #expect(begin(3, at: 61 * second) != nil)
            #expect(watched.usage.objects == 3)
            #expect(WatchedObjects.budget == 64 << 20)
        }
    }

    /// A change may move the ctime first and show in the directory later: between the look-up of a name and the watch.
    @Test func aNameThatWasLookedUpBeforeTheWatchIsNotTold() throws {
        try withFiles(["a"]) { _ in
            let watched = WatchedObjects()
            watched.use(try FileEvents())
            let before = watched.marks
            let watch = try #require(watched.begin(tree.root, directory.rawValue, in: tree, at: 1))
            let ctime = try Syscall.statx(directory.rawValue).ctime
            #expect(!watched.isWatched(tree.root.key))
            #expect(watched.confirm(watch, ctime))
            #expect(watched.isWatched(tree.root.key))
            #expect(!watched.isWatched(tree.root.key, sinceBefore: ctime, at: before))
            #expect(watched.isWatched(tree.root.key, sinceBefore: ctime, at: watched.marks))
        }
    }

    /// docs/decisions/0040-directories-between-names.md
    @Test func aDirectorysStatusIsKeptWhileItIsWatchedAndNothingIsWritten() throws {
        try withFiles(["a"]) { _ in
            let watched = WatchedObjects()
            watched.use(try FileEvents())
            let status = try Syscall.statx(directory.rawValue)
            let key = tree.root.key
            func keep(at marks: UInt64, _ age: UInt64 = 0) -> Bool {
                watched.keep(status, of: key, in: tree, at: marks, 4, since: SystemTime.monotonic() - age)
            }
            func isGone() -> Bool { watched.keptStatus(of: key, in: tree, at: 4) == nil }
            #expect(!keep(at: watched.marks) && isGone(), "it is not watched")
            let before = watched.marks
            _ = try #require(watched.begin(tree.root, directory.rawValue, in: tree, at: 1))
            #expect(!keep(at: before) && isGone(), "it was read before the watch began")
            #expect(keep(at: watched.marks) && watched.keptStatus(of: key, in: tree, at: 4) == status)
            #expect(watched.keptStatus(of: key, in: tree, at: 6) == nil, "something was written since")
            watched.renewKept(key, in: tree, from: 2, to: 6)
            #expect(watched.keptStatus(of: key, in: tree, at: 6) == nil, "another turn came before")
            watched.renewKept(key, in: tree, from: 4, to: 6)
            #expect(watched.keptStatus(of: key, in: tree, at: 6) == status && isGone())
            let other = try BackingTree(
                directory: Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.other", descriptorBudget: 64,
                report: { _ in })
            #expect(keep(at: watched.marks) && watched.keptStatus(of: key, in: other, at: 4) == nil, "another tree reads other records")
            #expect(keep(at: watched.marks, 1_050_000_000) && isGone(), "a second after it was read is the bound")
            #expect(keep(at: watched.marks) && !isGone())
            _ = watched.end(try #require(key.handle))
            #expect(isGone(), "an event has ended the watch")
        }
    }
}
