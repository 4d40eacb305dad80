import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import ACLFileSystem

/// Tables that are up to date at any moment, as the process finds them that goes on after a death.
@Suite struct LiveTablesTests {
    private let scratch: ScratchDirectory
    private let tree: BackingTree

    init() throws {
        scratch = try ScratchDirectory("live")
        tree = try BackingTree(
            directory: Syscall.open(scratch.path, OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs", descriptorBudget: 16,
            report: { _ in })
    }

    private func live() throws -> LiveTables {
        var tables = SavedTables()
        tables.session = SavedSession(initMessage: [1, 2, 3], usedFlags: 5, maxWrite: 4096)
        tables.root = try #require(tree.save(tree.root))
        tables.root.descriptor = -1
        (tables.generation, tables.nextNode, tables.nextHandle) = (7, 2, 1)
        return try LiveTables(device: 3, tables)
    }

    private static let file = SavedFile(
        id: 4, node: 2, pathDescriptor: 0, descriptor: -1, mode: 3, isHandedOver: false, durability: 2, user: 501, payer: 502,
        path: SavedPath(kind: 2, backingID: 9, isMappable: true, readsDirectly: true, writesDirectly: false, mustKeepNoPages: false),
        isCounted: true)

    private func addFile(_ live: LiveTables, _ id: UInt64) throws -> Int32 {
        close(open(scratch.path + "/file-\(id)", O_CREAT | O_WRONLY, 0o600))
        let root = try tree.descriptor(of: tree.root)
        let found = try tree.resolve("file-\(id)", in: root, Syscall.statx(root.rawValue))
        live.note(nextNode: id + 1)
        return live.add(node: id, lookups: 1, found.object, -1)
    }

    @Test func whatIsNotedIsRead() throws {
        let live = try live()
        let slot = try addFile(live, 2)
        live.note(lookups: 12, ofNodeAt: slot)
        live.note(nextHandle: 6)
        live.note(backingID: 9)
        _ = live.add(Self.file, creator: 70)
        let second = live.add(Self.file, creator: 72)
        live.remove(handleAt: second)
        live.begin(30, before: 8)
        live.begin(32)
        live.end(32, isDone: true)
        live.begin(34)
        live.end(34, isDone: false)
        live.begin(36)
        live.answered(36)
        let left = try LeftByDeath(from: live.memory.rawValue)
        #expect(left.device == 3 && left.tables.generation == 7 && left.tables.session.initMessage == [1, 2, 3])
        #expect(left.tables.nodes.map(\.lookups) == [12] && left.tables.nodes.map(\.id) == [2] && left.tables.nextNode == 3)
        #expect(left.tables.files == [Self.file] && left.creators == [70: 4] && left.tables.nextHandle == 6)
        #expect(left.tables.backingIDs == Array(1...9))
        #expect(left.acts == [30: InheritedAct(isDone: false, before: 8), 32: InheritedAct(isDone: true, before: 0)])
    }

    /// Slots are used again, and more than one step of them has room.
    @Test func manyNodesComeAndGo() throws {
        let live = try live()
        var slots: [Int32] = []
        for id in UInt64(2)..<20_000 {
            live.note(nextNode: id + 1)
            slots.append(live.add(node: id, lookups: 1, tree.root, -1))
        }
        for slot in slots.dropFirst(10) { live.remove(nodeAt: slot) }
        live.note(nextNode: 20_001)
        #expect(slots.contains(live.add(node: 20_000, lookups: 1, tree.root, -1)))
        let left = try LeftByDeath(from: live.memory.rawValue)
        #expect(left.tables.nodes.map(\.id).sorted() == Array(2..<12) + [20_000])
        // Which were marked is not known.
        let unmarked = left.tables.nodes.count { !$0.isMarked }
        #expect(unmarked == 0)
    }

    /// What another process begun is kept over a second death, and what this one notes is newer.
    @Test func actsAreKept() throws {
        let live = try live()
        live.keep([40: InheritedAct(isDone: true, before: 1), 42: InheritedAct(isDone: false, before: 2)])
        live.begin(42, before: 3)
        let acts = try LeftByDeath(from: live.memory.rawValue).acts
        #expect(acts == [40: InheritedAct(isDone: true, before: 1), 42: InheritedAct(isDone: false, before: 3)])
    }

    /// A request with which several processes died is not tried again.
    @Test func aRequestThatKillsIsGivenUp() throws {
        let resent: UInt64 = 1 << 63
        var (repeats, tries): ([UInt64: UInt64], Int) = ([:], 0)
        for round in UInt64(0)..<6 {
            let (live, acts) = (try live(), ActNotes())
            acts.inherit([:], repeats)
            acts.follow(live)
            if !acts.isHopeless(resent | 50) { tries += 1 }
            #expect(!acts.isHopeless(resent | (1000 + 2 * round)))
            repeats = try LeftByDeath(from: live.memory.rawValue).repeats
        }
        #expect(tries == 3)
    }

    @Test func whatItCannotHoldMakesItUnusable() throws {
        let live = try live()
        _ = live.add(node: 2, lookups: 1, tree.root, nil)
        #expect(throws: SavedProblem.self) { try LeftByDeath(from: live.memory.rawValue) }
    }

    /// No byte of it makes the reader trap.
    @Test func whatIsDamagedIsRefusedOrRead() throws {
        let live = try live()
        _ = try addFile(live, 2)
        live.note(nextHandle: 6)
        live.note(backingID: 9)
        _ = live.add(Self.file, creator: 70)
        let places =
            Array(0..<80) + Array(LiveLayout.fixed..<LiveLayout.fixed + 60) + Array(LiveLayout.nodes..<LiveLayout.nodes + LiveLayout.slot)
            + Array(LiveLayout.handles..<LiveLayout.handles + LiveLayout.slot)
        for at in places {
            var before: UInt8 = 0
            #expect(pread(live.memory.rawValue, &before, 1, at) == 1)
            for value: UInt8 in [0, 0xFF] {
                var value = value
                #expect(pwrite(live.memory.rawValue, &value, 1, at) == 1)
                _ = try? LeftByDeath(from: live.memory.rawValue)
            }
            #expect(pwrite(live.memory.rawValue, &before, 1, at) == 1)
        }
        let whole = try LeftByDeath(from: live.memory.rawValue)
        #expect(whole.tables.files == [Self.file])
    }

    @Test func anythingElseIsRefused() throws {
        let file = try Syscall.open("/dev/zero", OpenFlag.readOnly)
        #expect(throws: SavedProblem.self) { try LeftByDeath(from: file.rawValue) }
        #expect(throws: SavedProblem.self) { try LeftByDeath(from: -1) }
    }
}
