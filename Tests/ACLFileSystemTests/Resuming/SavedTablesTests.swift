import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Testing

@testable import ACLFileSystem

/// What a daemon leaves to the next one that serves its connection. It is read as a stranger's.
@Suite struct SavedTablesTests {
    private static let sample: SavedTables = {
        func object(_ inode: UInt64, _ kind: ObjectKind, descriptor: Int32 = -1) -> SavedObject {
            SavedObject(
                inode: inode, handle: FileHandle(type: 1, bytes: [UInt8](repeating: UInt8(inode), count: 8)), kind: kind,
                descriptor: descriptor, isOvermounted: false, hasLostNames: descriptor >= 0)
        }
        var tables = SavedTables()
        tables.session = SavedSession(initMessage: [104, 0, 0, 0, 26, 0, 0, 0], usedFlags: 0x4000_0001, maxWrite: 1 << 20)
        tables.root = object(2, .directory)
        (tables.generation, tables.nextNode, tables.nextHandle) = (77, 9, 5)
        tables.nodes = [
            SavedNode(id: 2, lookups: 3, object: object(11, .file), isMarked: false, collidingCookies: []),
            SavedNode(
                id: 7, lookups: 1, object: object(12, .directory, descriptor: 30), isMarked: true,
                collidingCookies: [SavedCookie(position: -5, cookie: 6)]),
        ]
        tables.rootCookies = [SavedCookie(position: 1 << 40, cookie: 3)]
        tables.files = [
            SavedFile(
                id: 3, node: 2, pathDescriptor: 31, descriptor: 32, mode: 3, isHandedOver: true, durability: 1, user: 501, payer: 502,
                path: SavedPath(
                    kind: 2, backingID: 4, isMappable: true, readsDirectly: true, writesDirectly: true, mustKeepNoPages: false),
                isCounted: true)
        ]
        tables.directories = [
            SavedDirectory(
                id: 4, node: 7, descriptor: 33, user: 501, payer: 501, wasListedBefore: true, last: SavedCookie(position: 9, cookie: 1),
                second: SavedCookie(position: 10, cookie: 2), numbered: [1 << 50, 1 << 51])
        ]
        tables.backingIDs = [4, 6]
        tables.writableFiles = [
            SavedWritableFile(
                node: 2, opens: 8, closes: 1, hasGaps: true,
                gaps: SavedGaps(oldEnd: 1, examinedEnd: 2, closedEnd: 3, excluded: [4..<5], failed: 6..<7), isRootOnly: false,
                spendsRootReserve: true, user: 501, largestWritten: 100, budget: nil)
        ]
        return tables
    }()

    /// As the first version wrote it. A daemon of any build may have left it, so it never changes.
    private static let first = """
        08000000680000001a000000010000400000000000001000000000004d00000000000000090000000000000005000000000000000200000000000000\
        01000000000000000100000008000000020202020202020201ffffffff00000200000000000000020000000000000003000000000000000b00000000\
        000000010000000000000001000000080000000b0b0b0b0b0b0b0b00ffffffff0000000000000000000000070000000000000001000000000000000c\
        00000000000000010000000000000001000000080000000c0c0c0c0c0c0c0c011e0000000001010100000000000000fbffffffffffffff0600000000\
        0000000100000000000000000000000001000003000000000000000100000000000000030000000000000002000000000000001f0000002000000004\
        000000030102f5010000f601000001010101010001000000000000000400000000000000070000000000000021000000f5010000f501000001090000\
        000000000001000000000000000a00000000000000020000000000000002000000000000000000000000000400000000000000080002000000000000\
        0004000000060000000100000000000000020000000000000008000000000000000100000000000000010001f5010000010000000000000064000000\
        000000000000000000000000010000000000000002000000000000000300000000000000010000000000000004000000000000000500000000000000\
        010000000000000006000000000000000700000000000000
        """

    @Test func eachVersionIsReadForEver() throws {
        let bytes = stride(from: 0, to: Self.first.count, by: 2).map { at in
            let start = Self.first.index(Self.first.startIndex, offsetBy: at)
            return UInt8(Self.first[start..<Self.first.index(start, offsetBy: 2)], radix: 16) ?? 0
        }
        #expect(Self.sample.bytes == bytes, "\(Self.sample.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())")
        let read = try SavedTables(bytes)
        #expect(read.bytes == bytes)
        #expect(read.nodes == Self.sample.nodes && read.files == Self.sample.files && read.directories == Self.sample.directories)
        #expect(read.writableFiles == Self.sample.writableFiles && read.session == Self.sample.session)
        #expect(Set(read.descriptors) == [30, 31, 32, 33])
    }

    @Test func whatIsCutOrLongerIsRefused() {
        let bytes = Self.sample.bytes
        for count in bytes.indices { #expect(throws: SavedProblem.self) { try SavedTables(Array(bytes[..<count])) } }
        #expect(throws: SavedProblem.self) { try SavedTables(bytes + [0]) }
    }

    /// No byte makes it trap, and what is understood is what is written.
    @Test func aChangedByteIsRefusedOrIsAnotherTable() {
        let bytes = Self.sample.bytes
        for at in bytes.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[at] = value
                if let tables = try? SavedTables(changed) { #expect(tables.bytes == changed, "byte \(at) is \(value)") }
            }
        }
    }

    /// Each part that names another one names one that is there, once.
    @Test func partsThatContradictEachOtherAreRefused() {
        func refused(_ what: String, _ body: (inout SavedTables) -> Void) {
            var tables = Self.sample
            body(&tables)
            #expect(throws: SavedProblem.self, "\(what)") { try SavedTables(tables.bytes) }
        }
        refused("a node twice") { $0.nodes.append($0.nodes[0]) }
        refused("the root's number") { $0.nodes[0].id = 1 }
        refused("a number that is still to come") { $0.nodes[0].id = 9 }
        refused("a handle of no node") { $0.files[0].node = 5 }
        refused("a file's handle of a directory") { $0.files[0].node = 7 }
        refused("a directory's handle of a file") { $0.directories[0].node = 2 }
        refused("two handles of one number") { $0.directories[0].id = 3 }
        refused("a handle that is still to come") { $0.files[0].id = 5 }
        refused("a backing id that the kernel does not hold") { $0.files[0].path.backingID = 5 }
        refused("a backing id twice") { $0.backingIDs.append(4) }
        refused("writes that nobody counts") { $0.writableFiles = [] }
        refused("writes of a directory") { $0.writableFiles[0].node = 7 }
        refused("writes counted twice") { $0.writableFiles.append($0.writableFiles[0]) }
    }
}
