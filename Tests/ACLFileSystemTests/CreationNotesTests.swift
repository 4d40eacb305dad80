import Authorization
import BackingStore
import Foundation
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import Testing

@testable import ACLFileSystem

/// What a crash leaves half made is found by notes and by nothing else (docs/decisions/0022-creation-notes.md).
final class CreationNotesTests {
    private let top: String
    private let source: String
    private let notes: String
    private var reported: [String] = []

    init() throws {
        var template = Array("/var/tmp/aclfs-notes.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw Errno.io }
        top = String(cString: made)
        (source, notes) = (top + "/source", top + "/notes")
        mkdir(source, 0o755)
        mkdir(source + "/d", 0o755)
    }

    deinit { try? FileManager.default.removeItem(atPath: top) }

    private func tree(_ path: String? = nil) throws -> BackingTree {
        try BackingTree(
            directory: Syscall.open(path ?? source, OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
            descriptorBudget: 64, report: { _ in })
    }

    private func opened(_ tree: BackingTree, isReadOnly: Bool = false) -> CreationNotes? {
        CreationNotes.open(in: notes, for: tree, isReadOnly: isReadOnly) { self.reported.append($0) }
    }

    private func loaded(_ tree: BackingTree, _ name: String = "d") throws -> ObjectState {
        let fileSystem = FileSystem(tree: tree, options: MountOptions())
        let found = try tree.object(at: name.isEmpty ? [] : [Array(name.utf8)])
        return try fileSystem.loader.load(found, .unconfined)
    }

    /// As a daemon that notes a creation and dies before the object is finished; the object is made by `make`.
    private func crash(
        _ name: String, mode: UInt32 = S_IFREG | 0o600, owner: UInt32 = 501, in directory: String = "d", _ make: (String) -> Void
    ) throws {
        let tree = try tree()
        let notes = try #require(opened(tree))
        let place = notes.note(name, in: try loaded(tree, directory), of: tree, mode: mode, owner: owner, byRoot: true)
        #expect(place != nil)
        make(source + "/" + (directory.isEmpty ? "" : directory + "/") + name)
        // Here it ends without a word: the file stays, its lock goes.
    }

    private func exists(_ name: String) -> Bool {
        var status = stat()
        return lstat(source + "/" + name, &status) == 0
    }

    private var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: notes)) ?? [] }

    private static func file(_ path: String) { close(open(path, O_CREAT | O_EXCL | O_RDWR, 0o600)) }

    @Test func theNextMountRemovesEachKindOfObject() throws {
        let cases: [(UInt32, (String) -> Void)] = [
            (S_IFREG | 0o600, Self.file), (S_IFDIR | 0o700, { mkdir($0, 0o700) }),
            (S_IFLNK | 0o777, { symlink("target", $0) }), (S_IFIFO | 0o600, { mkfifo($0, 0o600) }),
        ]
        for (number, (mode, make)) in cases.enumerated() {
            try crash("new", mode: mode, make)
            #expect(exists("d/new"))
            let notes = opened(try tree())
            #expect(!exists("d/new"), "\(number)")
            #expect(reported == ["a crash had left objects half made; now removed: 1"])
            reported = []
            notes?.end()
            #expect(files.isEmpty, "\(files)")
        }
    }

    @Test func inTheRootAndInADirectoryThatWasMoved() throws {
        try crash("new", in: "", Self.file)
        _ = opened(try tree())
        #expect(!exists("new"))
        try crash("new", Self.file)
        rename(source + "/d", source + "/e")
        _ = opened(try tree())
        // Its handle leads there, if this user may open handles.
        #expect(exists("e/new") == (geteuid() != 0))
    }

    @Test func whatIsFinishedIsNotNoted() throws {
        let tree = try tree()
        let fileSystem = FileSystem(tree: tree, options: MountOptions(), creationNotes: opened(tree))
        let caller = Caller(uid: geteuid(), gid: getegid(), tid: 0)
        _ = try fileSystem.operations.names.make(.directory, "made", in: .root, mode: 0o700, caller)
        #expect(throws: Errno.exist) { _ = try fileSystem.operations.names.make(.directory, "d", in: .root, mode: 0o700, caller) }
        // It died here: the file of notes is there, with nothing in it.
        _ = opened(try self.tree())
        #expect(exists("made") && exists("d") && reported.isEmpty)
    }

    /// Each of these could be another program's, or hold something.
    @Test func whatIsNotCertainlyHalfMadeStays() throws {
        let cases: [(String, (String) -> Void)] = [
            (
                "content",
                { path in
                    Self.file(path)
                    try? Data("x".utf8).write(to: URL(fileURLWithPath: path))
                }
            ),
            (
                "mode",
                { path in
                    Self.file(path)
                    chmod(path, 0o644)
                }
            ),
            (
                "second",
                { path in
                    Self.file(path)
                    link(path, path + ".link")
                }
            ),
            ("kind", { mkdir($0, 0o700) }),
            ("absent", { _ in }),
        ]
        for (name, make) in cases { try crash(name, make) }
        try crash("full", mode: S_IFDIR | 0o700) { path in
            mkdir(path, 0o700)
            Self.file(path + "/inner")
        }
        _ = opened(try tree())
        for (name, _) in cases where name != "absent" { #expect(exists("d/" + name), "\(name)") }
        #expect(exists("d/full/inner") && reported.isEmpty)
        let again = opened(try tree())
        again?.end()
    }

    @Test func anObjectOfAnotherMomentStays() throws {
        Self.file(source + "/d/new")
        let tree = try tree()
        let leftovers = CreationLeftovers(tree, isOnServer: false)
        let directory = try loaded(tree)
        var status = stat()
        #expect(lstat(source + "/d/new", &status) == 0)
        let born = Timespec(sec: Int64(status.st_ctim.tv_sec), nsec: UInt32(status.st_ctim.tv_nsec))
        func note(_ time: Timespec, maker: UInt32 = geteuid()) -> CreationNote {
            CreationNote(
                time: time, mode: S_IFREG | 0o600, maker: maker, owner: 501, inode: directory.status.inode,
                handle: directory.object.key.handle, name: Array("new".utf8), path: [Array("d".utf8)])
        }
        #expect(try !leftovers.remove(note(Timespec(sec: born.sec + 1, nsec: born.nsec))), "older than the note")
        #expect(try !leftovers.remove(note(Timespec(sec: born.sec - 60, nsec: born.nsec))), "younger than the crash")
        #expect(try !leftovers.remove(note(born, maker: geteuid() &+ 1)), "another user's")
        for seconds in [Int64.min, .max] {
            #expect(try !CreationLeftovers(tree, isOnServer: true).remove(note(Timespec(sec: seconds, nsec: .max))), "any stored number")
        }
        #expect(try leftovers.remove(note(born)))
        #expect(try !leftovers.remove(note(born)), "once")
    }

    /// The id that no account has is mark enough, whenever it was made.
    @Test(.enabled(if: geteuid() == 0, "needs root")) func whatBelongsToNoAccountGoes() throws {
        Self.file(source + "/d/new")
        chown(source + "/d/new", 4_294_967_294, 0)
        let tree = try tree()
        let directory = try loaded(tree)
        let note = CreationNote(
            time: Timespec(sec: 0, nsec: 0), mode: S_IFREG | 0o600, maker: 4_294_967_294, owner: 501, inode: directory.status.inode,
            handle: directory.object.key.handle, name: Array("new".utf8), path: nil)
        #expect(try CreationLeftovers(tree, isOnServer: false).remove(note))
        #expect(!exists("d/new"))
    }

    @Test func aLivingDaemonsNotesAndThoseOfAnotherTreeAreLeftAlone() throws {
        let tree = try tree()
        let living = try #require(opened(tree))
        let place = try #require(
            living.note("new", in: try loaded(tree), of: tree, mode: S_IFREG | 0o600, owner: 501, byRoot: true))
        Self.file(source + "/d/new")
        _ = opened(try self.tree())
        #expect(exists("d/new"))
        living.remove(place)
        living.end()

        try crash("other", Self.file)
        mkdir(top + "/second", 0o755)
        _ = opened(try self.tree(top + "/second"))
        #expect(exists("d/other"))
        _ = opened(try self.tree(), isReadOnly: true)
        #expect(exists("d/other"), "a mount that changes nothing removes nothing")
        _ = opened(try self.tree())
        #expect(!exists("d/other"))
    }

    @Test func damagedNotesLeadNowhere() throws {
        try crash("new", Self.file)
        let path = notes + "/" + (try #require(files.first))
        for offset in [0, 4, 8, 40, 60, 4096, 4100, 4104, 4110, 4130, 4140] {
            let file = open(path, O_RDWR)
            var byte: UInt8 = 0
            #expect(pread(file, &byte, 1, off_t(offset)) == 1)
            var other = ~byte
            pwrite(file, &other, 1, off_t(offset))
            // Reading must not remove what is to be damaged anew, so only the note itself is asked for.
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            let isHead = TreeIdentity.isHeader(bytes)
            let reading = bytes.withUnsafeBytes { CreationNoteFormat.read(UnsafeRawBufferPointer(rebasing: $0[4096..<8192])) }
            if offset >= 4096 { #expect(reading == .damaged, "\(offset)") } else { #expect(offset >= 44 || !isHead, "\(offset)") }
            pwrite(file, &byte, 1, off_t(offset))
            close(file)
        }
        truncate(path, 5000)
        _ = opened(try tree())
        #expect(exists("d/new"))
        #expect(!FileManager.default.fileExists(atPath: path), "a broken file is removed")
    }

    @Test func notesThatOthersCouldHavePlantedCountForNothing() throws {
        try crash("new", Self.file)
        let path = notes + "/" + (try #require(files.first))
        chmod(path, 0o666)
        _ = opened(try tree())
        #expect(exists("d/new"))
        chmod(path, 0o600)
        chmod(notes, 0o777)
        #expect(opened(try tree()) == nil)
        #expect(exists("d/new"))
        #expect(reported.last?.contains("others may write there") == true, "\(reported)")
        chmod(notes, 0o700)
        _ = opened(try tree())
        #expect(!exists("d/new"))
    }

    @Test func aNoteIsReadAsItWasWritten() throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: CreationNoteFormat.size, alignment: 8)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        #expect(CreationNoteFormat.read(UnsafeRawBufferPointer(memory)) == .none)
        func write(_ note: CreationNote) -> Bool {
            note.name.withUnsafeBufferPointer { name in
                CreationNoteFormat.write(
                    memory, time: note.time, mode: note.mode, maker: note.maker, owner: note.owner, inode: note.inode,
                    handle: note.handle, name: name, path: note.path)
            }
        }
        var note = CreationNote(
            time: Timespec(sec: -1, nsec: 999_999_999), mode: S_IFDIR | 0o700, maker: .max - 1, owner: 0, inode: .max,
            handle: FileHandle(type: -1, bytes: [UInt8](repeating: 7, count: 128)), name: [UInt8](repeating: 0xFF, count: 255), path: nil)
        let paths: [[[UInt8]]?] = [nil, [], [[0x61], [0xC3, 0x28]], (0..<14).map { _ in [UInt8](repeating: 0x62, count: 255) }]
        for path in paths {
            note.path = path
            #expect(write(note))
            #expect(CreationNoteFormat.read(UnsafeRawBufferPointer(memory)) == .note(note))
        }
        note.path = (0..<20).map { _ in [UInt8](repeating: 0x62, count: 255) }
        #expect(!write(note), "too long for a note")
        CreationNoteFormat.clear(memory)
        #expect(CreationNoteFormat.read(UnsafeRawBufferPointer(memory)) == .none)
    }

    /// An object that was made and cannot be opened is neither finished nor left.
    @Test func whatCannotBeFinishedIsRemoved() throws {
        let tree = try tree()
        let fileSystem = FileSystem(tree: tree, options: MountOptions(), creationNotes: opened(tree))
        let caller = Caller(uid: geteuid(), gid: getegid(), tid: 0)
        let kinds: [NewObject] = [.directory, .special(.fifo, device: 0), .file]
        for new in kinds {
            let (result, faults) = Faults.with(.callsOf("openat(_:_:_:mode:)", .mfile)) { () throws(Errno) in
                try fileSystem.operations.names.make(new, "made", in: .root, mode: 0o600, caller)
            }
            #expect(faults.failures > 0)
            #expect(throws: Errno.mfile) { try result.get() }
            #expect(!exists("made"), "\(new)")
        }
    }

    /// And what cannot be removed either keeps its note.
    @Test func whatCannotBeRemovedIsLeftToTheNextMount() throws {
        let tree = try tree()
        do {
            let fileSystem = FileSystem(tree: tree, options: MountOptions(), creationNotes: opened(tree))
            let caller = Caller(uid: geteuid(), gid: getegid(), tid: 0)
            let made = Faults.with(.none) { () throws(Errno) in
                _ = try fileSystem.operations.names.make(.directory, "first", in: .root, mode: 0o700, caller)
            }
            let place = try #require(made.faults.calls.firstIndex(of: "mkdirat(_:_:mode:)"))
            let (result, _) = Faults.with(.callsFrom(place + 2, .io)) { () throws(Errno) in
                _ = try fileSystem.operations.names.make(.directory, "second", in: .root, mode: 0o700, caller)
            }
            #expect(throws: Errno.io) { try result.get() }
            #expect(exists("second"))
            // Here it dies.
        }
        _ = opened(try self.tree())
        #expect(exists("first") && !exists("second"))
        #expect(reported == ["a crash had left objects half made; now removed: 1"])
    }

    /// Whatever fails while leftovers are looked for, a later mount removes them, and nothing else.
    @Test func aLookThatFailsIsRepeatedByTheNextMount() throws {
        var number = 0
        var failures = 1
        while failures > 0 {
            number += 1
            try crash("new", Self.file)
            Self.file(source + "/d/other")
            let tree = try tree()
            let (_, faults) = Faults.with(.call(number, .io)) { _ = opened(tree) }
            failures = faults.failures
            _ = opened(try self.tree())
            #expect(!exists("d/new") && exists("d/other"), "call \(number) of \(faults.calls)")
            unlink(source + "/d/new")
            unlink(source + "/d/other")
            for name in files { unlink(notes + "/" + name) }
        }
        #expect(number > 10)
    }

    /// More at a time than there is room for.
    @Test func creationsBeyondTheRoomAreNotNoted() throws {
        let tree = try tree()
        let notes = try #require(opened(tree))
        let directory = try loaded(tree)
        func note() -> Int? { notes.note("new", in: directory, of: tree, mode: S_IFREG | 0o600, owner: 501, byRoot: true) }
        let places = (0..<CreationNotes.capacity).compactMap { _ in note() }
        #expect(Set(places).count == CreationNotes.capacity && note() == nil)
        notes.remove(places[5])
        #expect(note() == places[5])
    }
}
