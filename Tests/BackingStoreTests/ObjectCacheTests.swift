import ACLFormats
import Authorization
import LinuxSystem
import Testing

@testable import BackingStore

/// Descriptors and records that are kept, and how many (docs/internals/architecture.md I10).
@Suite struct ObjectCacheTests {
    private let directory: TemporaryTree
    init() throws { directory = try TemporaryTree() }

    private func object(_ inode: UInt64, device: UInt64 = 1, _ handle: FileHandle? = nil) -> BackingObject {
        BackingObject(key: ObjectKey(device: device, inode: inode, handle: handle), kind: .file, reopening: .handle)
    }

    private func descriptor() throws -> SharedDescriptor {
        SharedDescriptor(try Syscall.open(directory.path, OpenFlag.path | OpenFlag.directory))
    }

    @Test func noMoreDescriptorsAreKeptThanTheCapacity() throws {
        let cache = ObjectCache(capacity: 20)
        for inode in 0..<1000 as Range<UInt64> {
            try cache.insert(descriptor(), for: object(inode))
            #expect(directory.descriptors <= 20)
        }
        #expect(directory.descriptors == 20)
        cache.removeAll()
        #expect(directory.descriptors == 0)
        try cache.insert(descriptor(), for: object(1))
        #expect(cache.find(object(1)) != nil && directory.descriptors == 1)
    }

    @Test func whatIsUsedStaysLonger() throws {
        let cache = ObjectCache(capacity: 16)
        for inode in 0..<16 as Range<UInt64> { try cache.insert(descriptor(), for: object(inode)) }
        for inode in 100..<140 as Range<UInt64> {
            #expect(cache.find(object(3)) != nil, "\(inode)")
            try cache.insert(descriptor(), for: object(inode))
        }
        #expect(cache.find(object(3)) != nil && cache.find(object(4)) == nil)
    }

    @Test func aNumberThatIsUsedAgainIsAnotherObject() throws {
        let cache = ObjectCache(capacity: 16)
        let (first, second) = (FileHandle(type: 1, bytes: [1]), FileHandle(type: 1, bytes: [2]))
        let stored = StoredFacts(MetadataRecord(flags: .hidden))
        let time = Timespec(sec: 1, nsec: 1)
        try cache.insert(descriptor(), for: object(5, first))
        cache.keep(stored, at: time, for: object(5, first))
        #expect(cache.find(object(5, second)) == nil && cache.record(of: object(5, second), at: time) == nil)
        try cache.insert(descriptor(), for: object(5, second))
        #expect(cache.find(object(5, first)) == nil && cache.record(of: object(5, first), at: time) == nil)
        #expect(cache.record(of: object(5, second), at: time) == nil, "the record was the other's")
        #expect(cache.find(object(5, device: 2, second)) == nil)
        #expect(directory.descriptors == 1)
    }

    @Test func aRecordBelongsToOneChangeTime() throws {
        let cache = ObjectCache(capacity: 16)
        let (one, two, three) = (Timespec(sec: 1, nsec: 1), Timespec(sec: 1, nsec: 2), Timespec(sec: 1, nsec: 3))
        let stored = StoredFacts(MetadataRecord(flags: .hidden))
        let file = object(1)
        cache.keep(stored, at: one, for: file)
        #expect(cache.record(of: file, at: one) == nil, "nothing is kept without a descriptor")
        try cache.insert(descriptor(), for: file)
        cache.keep(stored, at: one, for: file)
        #expect(cache.record(of: file, at: one)?.flags == .hidden && cache.wasRead(file, at: one))
        #expect(cache.record(of: file, at: two) == nil)
        cache.note(absent: .label, file, at: two)
        #expect(cache.absentAttributes(file, at: one).isEmpty, "what is known of another time says nothing")
        cache.note(absent: .label, file, at: one)
        #expect(cache.absentAttributes(file, at: one) == .label && cache.absentAttributes(file, at: two).isEmpty)
        cache.assume(two, after: three, of: file)
        #expect(cache.record(of: file, at: two) == nil, "what was kept under another time is not carried on")
        cache.assume(two, after: one, of: file)
        #expect(cache.record(of: file, at: two) != nil && !cache.wasRead(file, at: two) && cache.record(of: file, at: one) == nil)
        // Anew with a descriptor of the same object it stays.
        try cache.insert(descriptor(), for: file)
        #expect(cache.record(of: file, at: two) != nil)
        cache.remove(file)
        try cache.insert(descriptor(), for: file)
        #expect(cache.record(of: file, at: two) == nil)
    }

    @Test func removingLeavesTheOthers() throws {
        let cache = ObjectCache(capacity: 16)
        for inode in 0..<16 as Range<UInt64> { try cache.insert(descriptor(), for: object(inode)) }
        for inode in stride(from: UInt64(0), to: 16, by: 2) { cache.remove(object(inode)) }
        for inode in 0..<16 as Range<UInt64> { #expect((cache.find(object(inode)) != nil) == (inode % 2 == 1), "\(inode)") }
        cache.remove(object(99))
        #expect(directory.descriptors == 8)
        for inode in 20..<60 as Range<UInt64> { try cache.insert(descriptor(), for: object(inode)) }
        #expect(directory.descriptors == 16)
    }

    /// Of a tree, however many objects are looked at.
    @Test func aTreeHoldsNoMoreThanItsBudget() throws {
        let tree = try directory.tree(budget: 16)
        let own = directory.descriptors
        for number in 0..<60 { try directory.file("file\(number)") }
        var objects: [BackingObject] = []
        for number in 0..<60 { objects.append(try directory.find("file\(number)", in: tree).object) }
        #expect(directory.descriptors <= own + 16)
        if objects.allSatisfy({ !$0.mayHoldDescriptor }) {
            // Those that were let go are opened again.
            for (number, object) in objects.enumerated() {
                let status = try Syscall.statx(tree.descriptor(of: object).rawValue)
                #expect(status.inode == object.key.inode, "\(number)")
            }
            #expect(directory.descriptors <= own + 16)
        }
        tree.forgetDescriptors()
        #expect(directory.descriptors <= own)
    }
}
