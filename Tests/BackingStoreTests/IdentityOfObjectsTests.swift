import ACLFormats
import Authorization
import Glibc
import LinuxSystem
import Testing

@testable import BackingStore

/// Which object a name or a number means, and how it is found again (docs/internals/architecture.md I7).
@Suite struct IdentityOfObjectsTests {
    private let directory: TemporaryTree
    private let tree: BackingTree

    init() throws {
        directory = try TemporaryTree()
        tree = try directory.tree()
    }

    private func inode(_ object: BackingObject) throws(Errno) -> UInt64 {
        let descriptor = try tree.descriptor(of: object)
        return try Syscall.statx(descriptor.rawValue).inode
    }

    @Test func anObjectIsTheSameUnderEachOfItsNames() throws {
        try directory.file("file")
        try directory.makeDirectory("directory")
        try Syscall.linkat(directory.directory.rawValue, "file", to: directory.directory.rawValue, "directory/other")
        let (first, second) = (try directory.find("file", in: tree), try directory.find("directory/other", in: tree))
        #expect(first.object.key == second.object.key)
        #expect(first.object.key != (try directory.find("directory", in: tree).object.key))
        // As another mount of the tree has it.
        #expect(first.object.key == (try directory.find("file", in: directory.tree()).object.key))
    }

    /// A process that another test starts has the descriptors of this one until it executes its program.
    private func isGone(_ object: BackingObject) throws -> Bool {
        for _ in 0..<3000 {
            do throws(Errno) { _ = try inode(object) } catch {
                guard error == .noent else { throw error }
                return true
            }
            // What was just opened would keep the object there.
            tree.forgetDescriptor(of: object)
            SystemTime.sleep(milliseconds: 10)
        }
        return false
    }

    @Test(.enabled(if: geteuid() == 0, "needs root")) func aHandleLeadsBackWhereverItIs() throws {
        try directory.file("file")
        try directory.makeDirectory("directory")
        let object = try directory.find("file", in: tree).object
        #expect(!object.mayHoldDescriptor)
        tree.forgetDescriptors()
        try Syscall.renameat2(directory.directory.rawValue, "file", to: directory.directory.rawValue, "directory/moved")
        #expect(try inode(object) == object.key.inode)
        try Syscall.unlinkat(directory.directory.rawValue, "directory/moved")
        #expect(!tree.forgetDescriptorIfRemoved(object))
        #expect(try isGone(object))
    }

    /// A new object may have the number of one that is gone; it is another, and the old one stays gone.
    @Test(.enabled(if: geteuid() == 0, "needs root")) func aNumberIsUsedAgain() throws {
        var old: [BackingObject] = []
        for round in 0..<100 {
            try directory.file("file\(round)")
            let object = try directory.find("file\(round)", in: tree).object
            for gone in old where gone.key.inode == object.key.inode {
                #expect(gone.key != object.key)
                #expect(try isGone(gone))
            }
            old.append(object)
            try Syscall.unlinkat(directory.directory.rawValue, "file\(round)")
            tree.forgetDescriptor(of: object)
            #expect(try isGone(object))
        }
        #expect(Set(old.map(\.key)).count == old.count)
    }

    @Test func namesThatLeadOutAreRefused() throws {
        for name in [".", "..", ""] {
            #expect(throws: Errno.inval, "\(name)") {
                try tree.resolve(name, in: directory.directory, Syscall.statx(directory.directory.rawValue))
            }
        }
        try Syscall.symlinkat(target: "/etc", directory.directory.rawValue, "out")
        #expect(try directory.find("out", in: tree).object.kind == .symlink)
        #expect(throws: Errno.loop) { try directory.find("out/passwd", in: tree) }
        try directory.file("file")
        #expect(throws: Errno.notdir) { try directory.find("file/inner", in: tree) }
        #expect(throws: Errno.noent) { try directory.find("nothing", in: tree) }
    }

    @Test func eachKindIsKnown() throws {
        try directory.file("file")
        try directory.makeDirectory("directory")
        try Syscall.symlinkat(target: "file", directory.directory.rawValue, "symlink")
        try Syscall.mknodat(directory.directory.rawValue, "fifo", mode: 0o010600)
        try Syscall.mknodat(directory.directory.rawValue, "socket", mode: 0o140600)
        for (name, kind) in [
            ("file", ObjectKind.file), ("directory", .directory), ("symlink", .symlink), ("fifo", .fifo), ("socket", .socket),
        ] { #expect(try directory.find(name, in: tree).object.kind == kind, "\(name)") }
        for kind in [ObjectKind.file, .directory, .symlink, .fifo, .socket, .characterDevice, .blockDevice] {
            #expect(ObjectKind(typeBits: kind.typeBits | 0o7777) == kind)
        }
    }

    /// Where no handle may be opened, an object is found by the name under which it was shown last, and by no other.
    @Test func withoutHandlesANameLeadsBack() throws {
        let (made, faults) = Faults.with(.callsOf("openByHandleOnce(_:_:_:)", .perm)) { () throws(Errno) -> BackingTree? in
            try? directory.tree()
        }
        let tree = try #require(try made.get())
        #expect(faults.failures > 0 || geteuid() != 0)
        try directory.makeDirectory("directory")
        try directory.file("directory/file")
        let above = try directory.find("directory", in: tree).object
        let object = try directory.find("directory/file", in: tree).object
        #expect(object.mayHoldDescriptor)
        func found() throws(Errno) -> UInt64 {
            tree.forgetDescriptors()
            let descriptor = try tree.descriptor(of: object)
            return try Syscall.statx(descriptor.rawValue).inode
        }
        #expect(throws: Errno.noent, "it was never shown") { try found() }
        above.rememberName("directory", in: tree.root)
        object.rememberName("file", in: above)
        #expect(try found() == object.key.inode)
        try Syscall.renameat2(directory.directory.rawValue, "directory/file", to: directory.directory.rawValue, "directory/moved")
        #expect(throws: Errno.noent) { try found() }
        try directory.file("directory/file")
        #expect(throws: Errno.noent, "another object has its name") { try found() }
        object.rememberName("moved", in: above)
        #expect(try found() == object.key.inode)
        // Without a name its descriptor is held.
        object.keepOpenWithoutName(try tree.descriptor(of: object))
        try Syscall.unlinkat(directory.directory.rawValue, "directory/moved")
        #expect(try found() == object.key.inode)
    }

    /// What fails once says nothing about the file system.
    @Test(.enabled(if: geteuid() == 0, "needs root")) func aFailureThatPassesIsNotRemembered() throws {
        try directory.file("file")
        for error in [Errno.mfile, .nomem, .io] {
            let (made, _) = Faults.with(.callsOf("openByHandleOnce(_:_:_:)", error)) { () throws(Errno) -> BackingTree? in
                try? directory.tree()
            }
            // Either there is no tree, or one that knows handles.
            guard let tree = try made.get() else { continue }
            #expect(try !directory.find("file", in: tree).object.mayHoldDescriptor, "\(error)")
        }
        let first = try directory.find("file", in: tree).object
        for error in [Errno.io, .nomem, .mfile] {
            tree.forgetDescriptors()
            let (result, faults) = Faults.with(.callsOf("nameToHandle(_:_:flags:)", error)) { () throws(Errno) in
                try directory.find("file", in: tree).object.key
            }
            #expect(faults.failures > 0)
            // An object without its handle would be another one.
            if case .success(let key) = result { #expect(key == first.key, "\(error)") }
        }
    }

    @Test func whereADirectoryIs() throws {
        try directory.makeDirectory("one")
        try directory.makeDirectory("one/two")
        let found = try directory.find("one/two", in: tree)
        func names() -> [String]? { tree.names(to: found.descriptor, found.status)?.map { String(decoding: $0, as: UTF8.self) } }
        #expect(names() == ["one", "two"])
        try Syscall.renameat2(directory.directory.rawValue, "one/two", to: directory.directory.rawValue, "two (deleted)")
        #expect(names() == ["two (deleted)"])
        try Syscall.unlinkat(directory.directory.rawValue, "two (deleted)", flags: AtFlag.removeDirectory)
        #expect(names() == nil)
        let root = try tree.descriptor(of: tree.root)
        #expect(try tree.names(to: root, Syscall.statx(root.rawValue)) == [])
    }

    /// docs/decisions/0034-inode-numbers-below-mounts.md
    @Test func numbersOfOtherFileSystemsAreShownApart() throws {
        let root = tree.root.key.device
        #expect(tree.shownInode(device: root, inode: 7) == 7)
        #expect(tree.shownInode(device: root, inode: 1 << 40 | 7) == 1 << 40 | 7)
        var seen: [UInt64: String] = [:]
        let numbers: [UInt64] = [
            0, 1, 2, 7, 256, 1 << 22 - 1, 1 << 22, 1 << 31 - 1, 1 << 31, 1 << 31 | 1 << 22, 1 << 32 - 1, 1 << 32, 1 << 40 - 1, 1 << 40,
            1 << 41 | 7,
            1 << 50, 1 << 52, 1 << 52 | 7, 1 << 52 | 1 << 40 | 7, 1 << 53 - 1, 1 << 53, 1 << 63 | 7, .max,
        ]
        for device in [root] + (1...600).map({ root &+ $0 }) {
            for number in numbers {
                let shown = tree.shownInode(device: device, inode: number)
                #expect(shown == tree.shownInode(device: device, inode: number))
                if let other = seen.updateValue("\(device): \(number)", forKey: shown) {
                    Issue.record("\(shown) is \(other) and \(device): \(number)")
                }
                // A number below 2^53 fits into a double.
                if number < 1 << 40 { #expect(shown < 1 << 53) }
            }
        }
    }

    @Test func eachFileSystemHasFewFarAreas() throws {
        let device = tree.root.key.device &+ 1
        let shown = (1...100).map { tree.shownInode(device: device, inode: $0 << 40) }
        #expect(shown.filter { $0 < 1 << 53 }.count == 8 && Set(shown).count == 100)
        #expect(tree.shownInode(device: device &+ 1, inode: 1 << 32) < 1 << 53)
    }

    @Test func moreFileSystemsThanAreasAreShownApart() throws {
        let root = tree.root.key.device
        let shown = (1...5000).flatMap { device in [7, 1 << 22 as UInt64].map { tree.shownInode(device: root &+ device, inode: $0) } }
        #expect(Set(shown).count == 10_000)
    }
}
