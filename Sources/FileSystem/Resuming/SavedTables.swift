import Authorization
import BackingStore
import FuseSession
import LinuxSystem

/// What a process has to know of a mount's nodes and handles to serve its connection after another process
/// (docs/decisions/0042-an-upgrade-nobody-notices.md). Each part is written and read by the type that owns it while the mount is served.
public struct SavedTables: Sendable {
    public static let version: UInt32 = 1

    public var session = SavedSession(initMessage: [], usedFlags: 0, maxWrite: 0)
    var root = SavedObject(inode: 0, handle: nil, kind: .directory, descriptor: -1, isOvermounted: false, hasLostNames: false)
    var generation: UInt64 = 0
    var nextNode: UInt64 = 0
    var nextHandle: UInt64 = 0
    /// Of all nodes but the root.
    var nodes: [SavedNode] = []
    var rootCookies: [SavedCookie] = []
    var files: [SavedFile] = []
    var directories: [SavedDirectory] = []
    /// All ids that the kernel holds, those of files without a handle too.
    var backingIDs: [Int32] = []
    var writableFiles: [SavedWritableFile] = []
}

struct SavedNode: Equatable {
    var id: UInt64
    var lookups: UInt64
    var object: SavedObject
    /// The mark of R7.
    var isMarked: Bool
    var collidingCookies: [SavedCookie]
}

struct SavedCookie: Equatable {
    var position: Int64
    var cookie: UInt64
}

struct SavedFile: Equatable {
    var id: UInt64
    var node: UInt64
    var pathDescriptor: Int32
    /// -1: none is open.
    var descriptor: Int32
    var mode: UInt8
    var isHandedOver: Bool
    var durability: UInt8
    var user: UInt32
    var payer: UInt32
    var path: SavedPath
    /// Writes are counted in one of `writableFiles`.
    var isCounted: Bool
}

/// As `DataPath` and `DataPathReference`.
struct SavedPath: Equatable {
    var kind: UInt8
    /// 0: none.
    var backingID: Int32
    var isMappable: Bool
    var readsDirectly: Bool
    var writesDirectly: Bool
    var mustKeepNoPages: Bool
}

struct SavedDirectory: Equatable {
    var id: UInt64
    var node: UInt64
    var descriptor: Int32
    var user: UInt32
    var payer: UInt32
    var wasListedBefore: Bool
    var last: SavedCookie
    var second: SavedCookie
    /// The positions that have numbers, in their order.
    var numbered: [Int64]
}

struct SavedWritableFile: Equatable {
    var node: UInt64
    var opens: UInt64
    var closes: Int
    var hasGaps: Bool
    var gaps: SavedGaps
    var isRootOnly: Bool
    var spendsRootReserve: Bool
    var user: UInt32
    var largestWritten: UInt64?
    var budget: UInt64?
}

struct SavedGaps: Equatable {
    var oldEnd: UInt64
    var examinedEnd: UInt64
    var closedEnd: UInt64
    var excluded: [Range<UInt64>]
    var failed: Range<UInt64>?
}

// MARK: Bytes

extension SavedTables {
    /// The descriptors that stay open for the next process.
    public var descriptors: [Int32] {
        let all = nodes.map(\.object.descriptor) + files.flatMap { [$0.pathDescriptor, $0.descriptor] } + directories.map(\.descriptor)
        return Array(Set(all.filter { $0 >= 0 }))
    }

    public var bytes: [UInt8] {
        var writer = SavedWriter()
        writer.add(bytes: session.initMessage)
        for number in [session.usedFlags, UInt64(session.maxWrite), generation, nextNode, nextHandle] { writer.add(number) }
        Self.add(root, &writer)
        writer.add(nodes) { writer, node in
            writer.add(node.id)
            writer.add(node.lookups)
            Self.add(node.object, &writer)
            writer.add(node.isMarked)
            writer.add(node.collidingCookies) { $0.add($1) }
        }
        writer.add(rootCookies) { $0.add($1) }
        writer.add(files) { writer, file in
            for number in [file.id, file.node] { writer.add(number) }
            for number in [file.pathDescriptor, file.descriptor, file.path.backingID] { writer.add(number) }
            for number in [file.mode, file.durability, file.path.kind] { writer.add(number) }
            for number in [file.user, file.payer] { writer.add(number) }
            let flags = [
                file.isHandedOver, file.isCounted, file.path.isMappable, file.path.readsDirectly, file.path.writesDirectly,
                file.path.mustKeepNoPages,
            ]
            for flag in flags { writer.add(flag) }
        }
        writer.add(directories) { writer, directory in
            for number in [directory.id, directory.node] { writer.add(number) }
            writer.add(directory.descriptor)
            for number in [directory.user, directory.payer] { writer.add(number) }
            writer.add(directory.wasListedBefore)
            writer.add(directory.last)
            writer.add(directory.second)
            writer.add(directory.numbered) { $0.add($1) }
        }
        writer.add(backingIDs) { $0.add($1) }
        writer.add(writableFiles) { writer, file in
            for number in [file.node, file.opens, UInt64(clamping: file.closes)] { writer.add(number) }
            for flag in [file.hasGaps, file.isRootOnly, file.spendsRootReserve] { writer.add(flag) }
            writer.add(file.user)
            for number in [file.largestWritten, file.budget] { writer.add([number].compactMap { $0 }) { $0.add($1) } }
            for number in [file.gaps.oldEnd, file.gaps.examinedEnd, file.gaps.closedEnd] { writer.add(number) }
            for ranges in [file.gaps.excluded, [file.gaps.failed].compactMap { $0 }] { writer.add(ranges) { $0.add($1) } }
        }
        return writer.bytes
    }

    /// - Throws: the bytes are not of this version, or cut, or contradict each other.
    public init(_ bytes: [UInt8]) throws(SavedProblem) {
        self.init()
        var reader = SavedReader(bytes)
        session.initMessage = try reader.byteList()
        session.usedFlags = try reader.number()
        session.maxWrite = try Self.exactly(reader.number(UInt64.self))
        generation = try reader.number()
        nextNode = try reader.number()
        nextHandle = try reader.number()
        root = try Self.object(&reader)
        nodes = try reader.list { (reader) throws(SavedProblem) in
            SavedNode(
                id: try reader.number(), lookups: try reader.number(), object: try Self.object(&reader), isMarked: try reader.flag(),
                collidingCookies: try reader.list { (reader) throws(SavedProblem) in try reader.cookie() })
        }
        rootCookies = try reader.list { (reader) throws(SavedProblem) in try reader.cookie() }
        files = try reader.list { (reader) throws(SavedProblem) in try Self.file(&reader) }
        directories = try reader.list { (reader) throws(SavedProblem) in
            SavedDirectory(
                id: try reader.number(), node: try reader.number(), descriptor: try reader.number(), user: try reader.number(),
                payer: try reader.number(), wasListedBefore: try reader.flag(), last: try reader.cookie(), second: try reader.cookie(),
                numbered: try reader.list { (reader) throws(SavedProblem) in try reader.number() })
        }
        backingIDs = try reader.list { (reader) throws(SavedProblem) in try reader.number() }
        writableFiles = try reader.list { (reader) throws(SavedProblem) in try Self.writableFile(&reader) }
        try reader.end()
        try check()
    }

    /// Each name of a node leads to one, once.
    private func check() throws(SavedProblem) {
        var known: [UInt64: ObjectKind] = [1: .directory]
        for node in nodes {
            guard node.id > 1, node.id < nextNode, known.updateValue(node.object.kind, forKey: node.id) == nil else { throw .isCut }
        }
        var handles: Set<UInt64> = []
        for (id, node, kind) in files.map({ ($0.id, $0.node, ObjectKind.file) }) + directories.map({ ($0.id, $0.node, .directory) }) {
            guard id > 0, id < nextHandle, handles.insert(id).inserted, known[node] == kind else { throw .isCut }
        }
        var counted: Set<UInt64> = []
        for file in writableFiles {
            guard known[file.node] == .file, counted.insert(file.node).inserted else { throw .isCut }
        }
        guard files.allSatisfy({ !$0.isCounted || counted.contains($0.node) }), Set(backingIDs).count == backingIDs.count,
            Set(backingIDs).union([0]).isSuperset(of: files.map(\.path.backingID))
        else { throw .isCut }
    }

    private static func exactly<Number: FixedWidthInteger>(_ number: UInt64) throws(SavedProblem) -> Number {
        guard let number = Number(exactly: number) else { throw .isCut }
        return number
    }

    private static func add(_ object: SavedObject, _ writer: inout SavedWriter) {
        writer.add(object.inode)
        writer.add([object.handle].compactMap { $0 }) { writer, handle in
            writer.add(handle.type)
            writer.add(bytes: handle.bytes)
        }
        writer.add(object.kind.rawValue)
        writer.add(object.descriptor)
        for flag in [object.isOvermounted, object.hasLostNames] { writer.add(flag) }
    }

    private static func object(_ reader: inout SavedReader) throws(SavedProblem) -> SavedObject {
        let inode: UInt64 = try reader.number()
        let handles = try reader.list { (reader) throws(SavedProblem) in
            guard let handle = FileHandle(type: try reader.number(), bytes: try reader.byteList()) else { throw .isCut }
            return handle
        }
        guard handles.count < 2, let kind = ObjectKind(rawValue: try reader.number()) else { throw .isCut }
        return SavedObject(
            inode: inode, handle: handles.first, kind: kind, descriptor: try reader.number(), isOvermounted: try reader.flag(),
            hasLostNames: try reader.flag())
    }

    private static func file(_ reader: inout SavedReader) throws(SavedProblem) -> SavedFile {
        let (id, node): (UInt64, UInt64) = (try reader.number(), try reader.number())
        let (place, descriptor, backingID): (Int32, Int32, Int32) = (try reader.number(), try reader.number(), try reader.number())
        let (mode, durability, kind): (UInt8, UInt8, UInt8) = (try reader.number(), try reader.number(), try reader.number())
        let (user, payer): (UInt32, UInt32) = (try reader.number(), try reader.number())
        let (isHandedOver, isCounted) = (try reader.flag(), try reader.flag())
        return SavedFile(
            id: id, node: node, pathDescriptor: place, descriptor: descriptor, mode: mode, isHandedOver: isHandedOver,
            durability: durability, user: user, payer: payer,
            path: SavedPath(
                kind: kind, backingID: backingID, isMappable: try reader.flag(), readsDirectly: try reader.flag(),
                writesDirectly: try reader.flag(), mustKeepNoPages: try reader.flag()),
            isCounted: isCounted)
    }

    private static func writableFile(_ reader: inout SavedReader) throws(SavedProblem) -> SavedWritableFile {
        func perhaps(_ reader: inout SavedReader) throws(SavedProblem) -> UInt64? {
            let list = try reader.list { (reader) throws(SavedProblem) in try reader.number(UInt64.self) }
            guard list.count < 2 else { throw .isCut }
            return list.first
        }
        let (node, opens): (UInt64, UInt64) = (try reader.number(), try reader.number())
        let closes: Int = try exactly(reader.number(UInt64.self))
        let (hasGaps, isRootOnly, spendsRootReserve) = (try reader.flag(), try reader.flag(), try reader.flag())
        let user: UInt32 = try reader.number()
        let (largest, budget) = (try perhaps(&reader), try perhaps(&reader))
        let (oldEnd, examinedEnd, closedEnd): (UInt64, UInt64, UInt64) = (try reader.number(), try reader.number(), try reader.number())
        let excluded = try reader.list { (reader) throws(SavedProblem) in try reader.range() }
        let failed = try reader.list { (reader) throws(SavedProblem) in try reader.range() }
        guard failed.count < 2 else { throw .isCut }
        return SavedWritableFile(
            node: node, opens: opens, closes: closes, hasGaps: hasGaps,
            gaps: SavedGaps(
                oldEnd: oldEnd, examinedEnd: examinedEnd, closedEnd: closedEnd, excluded: excluded, failed: failed.first),
            isRootOnly: isRootOnly, spendsRootReserve: spendsRootReserve, user: user, largestWritten: largest, budget: budget)
    }
}

extension SavedWriter {
    fileprivate mutating func add(_ cookie: SavedCookie) {
        add(cookie.position)
        add(cookie.cookie)
    }
}

extension SavedReader {
    fileprivate mutating func cookie() throws(SavedProblem) -> SavedCookie {
        SavedCookie(position: try number(), cookie: try number())
    }
}

/// Descriptors that another process has left open. Several parts of its tables may name one.
final class InheritedDescriptors {
    private var taken: [Int32: SharedDescriptor] = [:]

    /// - Throws: there is none of this number.
    func take(_ number: Int32) throws(SavedProblem) -> SharedDescriptor {
        if let known = taken[number] { return known }
        do throws(Errno) {
            guard number > 2 else { throw .badf }
            try Syscall.setClosedByExec(number, true)
        } catch { throw SavedProblem("the daemon's tables name descriptor \(number), which is not open") }
        let descriptor = SharedDescriptor(rawValue: number)
        taken[number] = descriptor
        return descriptor
    }

    /// nil for the number of none.
    func takeIfAny(_ number: Int32) throws(SavedProblem) -> SharedDescriptor? { number < 0 ? nil : try take(number) }
}
