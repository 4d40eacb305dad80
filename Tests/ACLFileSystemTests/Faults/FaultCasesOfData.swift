import FuseSession
import Glibc
import LinuxSystem

@testable import ACLFileSystem

// Handles and what goes through them.
extension FaultCase {
    private static func open(
        _ name: String, _ flags: Int32, between: Between = .nothing,
        on prepare: @escaping @Sendable (FaultScene) throws -> Void = {
            try $0.file().knows("file")
        }
    ) -> FaultCase {
        FaultCase("open \(name)", "open", between: between, on: prepare) { (s) throws(Errno) in
            s.gave(try s.fileSystem.operations.opens.open(s["file"], flags: flags, FaultTree.owner))
        }
    }

    private static let partly = Between.bytes("docs/reference/authorization.md 2.4: as natively, a write may be cut short")
    private static let withoutSetID = Between.steps("docs/reference/authorization.md 6.7: set-id bits go before what is written")

    static let data: [FaultCase] = [
        open("for reading", O_RDONLY),
        open("for writing", O_WRONLY),
        open("for both", O_RDWR),
        open("for appending", O_WRONLY | O_APPEND),
        open("with truncation", O_RDWR | O_TRUNC),
        open("of a set-id program", O_RDWR, between: withoutSetID, on: { try $0.file(mode: 0o6755).knows("file") }),
        open(
            "with truncation of a set-id program", O_RDWR | O_TRUNC, between: withoutSetID, on: { try $0.file(mode: 0o6755).knows("file") }),
        FaultCase("open by a stranger", "open", errors: [.acces], on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            do throws(Errno) { s.gave(try s.fileSystem.operations.opens.open(s["file"], flags: O_RDONLY, FaultTree.stranger)) } catch {
                guard error == .acces else { throw error }
                return s.say("refused")
            }
        },
        FaultCase("release", "release", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            s.fileSystem.operations.gaps.release(s.handle)
            s.tookBack(s.handle)
        },
        FaultCase(
            "release of a file with a gap", "release",
            on: { scene in
                try scene.file().open("file", O_RDWR)
                try scene.write("behind a gap", at: 300_000)
            }
        ) { (s) throws(Errno) in
            s.fileSystem.operations.gaps.release(s.handle)
            s.tookBack(s.handle)
        },
        FaultCase(
            "flush of a file with a gap", "flush",
            on: { scene in
                try scene.file().open("file", O_RDWR)
                try scene.write("behind a gap", at: 300_000)
            }
        ) { (s) throws(Errno) in try s.fileSystem.operations.gaps.flush(s.handle, FaultTree.owner, isInterrupted: { false }) },
        FaultCase("flush", "flush", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            try s.fileSystem.operations.gaps.flush(s.handle, FaultTree.owner, isInterrupted: { false })
        },
        FaultCase("read", "read", on: { try $0.file().open("file", O_RDONLY) }) { (s) throws(Errno) in
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = try bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(Errno) in try s.fileSystem.operations.bytes.read(s.handle, into: buffer, offset: 5, FaultTree.owner) }
            }.get()
            s.say("\(bytes[..<count])")
        },
        FaultCase("write", "write", between: partly, on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            try s.write("written over", at: 5)
        },
        FaultCase(
            "write at the end", "write", between: partly, keeps: "a descriptor that adds at the end, opened on first use",
            on: { try $0.file().open("file", O_WRONLY | O_APPEND) }
        ) { (s) throws(Errno) in try s.write("added", at: 0, flags: O_APPEND) },
        FaultCase("write to a set-id program", "write", between: withoutSetID, on: { try $0.file(mode: 0o6755).open("file", O_RDWR) }) {
            (s) throws(Errno) in
            try s.write("written over", at: 0, clearsSetID: true)
        },
        FaultCase("fsync", "fsync", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            try s.fileSystem.operations.bytes.sync(s.handle, dataOnly: false)
        },
        FaultCase("fdatasync", "fsync", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            try s.fileSystem.operations.bytes.sync(s.handle, dataOnly: true)
        },
        FaultCase("syncfs", "syncfs", parent: "/dev/shm") { (s) throws(Errno) in try s.fileSystem.operations.bytes.syncAll(s.directory) },
        FaultCase("fallocate", "fallocate", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            try s.fileSystem.operations.bytes.allocate(s.handle, mode: 0, offset: 0, length: 5000, FaultTree.owner)
        },
        FaultCase("fallocate of a hole", "fallocate", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            try s.fileSystem.operations.bytes.allocate(
                s.handle, mode: AllocateFlag.keepSize | AllocateFlag.punchHole, offset: 0, length: 8, FaultTree.owner)
        },
        FaultCase(
            "fallocate in a set-id program", "fallocate", between: withoutSetID, on: { try $0.file(mode: 0o6755).open("file", O_RDWR) }
        ) { (s) throws(Errno) in try s.fileSystem.operations.bytes.allocate(s.handle, mode: 0, offset: 0, length: 5000, FaultTree.owner) },
        FaultCase("lseek", "lseek", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            s.say("\(try s.fileSystem.operations.bytes.seek(s.handle, offset: 0, whence: Seek.hole, FaultTree.owner))")
        },
        FaultCase(
            "copy_file_range", "copyFileRange", between: partly,
            on: { try $0.file().file("other", "other content").open("file", O_RDWR).open("other", O_RDWR, as: "other") }
        ) { (s) throws(Errno) in
            let (from, to) = (
                FilePosition(node: s["file"], handle: s.handle, offset: 0),
                FilePosition(node: s["other"], handle: s.handle("other"), offset: 3)
            )
            s.say("\(try s.fileSystem.operations.bytes.copy(from: from, to: to, length: 9, FaultTree.owner))")
        },
        FaultCase("ioctl that reads flags", "ioctl", on: { try $0.file().open("file", O_RDONLY) }) { (s) throws(Errno) in
            try s.ioctl(0x8008_6601, [], outputSize: 8)
        },
        FaultCase("ioctl that sets flags", "ioctl", on: { try $0.file().open("file", O_RDONLY) }) { (s) throws(Errno) in
            try s.ioctl(0x4008_6602, [0x40, 0, 0, 0], outputSize: 0)
        },
        FaultCase("ioctl that reads extended flags", "ioctl", on: { try $0.file().open("file", O_RDONLY) }) { (s) throws(Errno) in
            try s.ioctl(0x801C_581F, [], outputSize: 28)
        },
        FaultCase("ioctl that sets extended flags", "ioctl", on: { try $0.file().open("file", O_RDONLY) }) { (s) throws(Errno) in
            try s.ioctl(0x401C_5820, [0x80] + [UInt8](repeating: 0, count: 27), outputSize: 0)
        },
    ]
}

extension FaultCase {
    static let listings: [FaultCase] = [
        FaultCase("opendir", "opendir", on: { try $0.file() }) { (s) throws(Errno) in
            s.gaveDirectory(try s.fileSystem.operations.directories.openDirectory(s.directory, FaultTree.owner))
        },
        FaultCase("readdir", "readdir", on: { try $0.file().directory().openDirectory() }) { (s) throws(Errno) in
            try s.withListing { (reply) throws(Errno) in
                try s.fileSystem.operations.directories.list(s.handle, offset: 0, into: &reply, FaultTree.owner)
            }
        },
        FaultCase(
            "readdirplus", "readdirplus", mayAnswerLess: "docs/internals/coherence.md R6: elsewhere only the names stand, without a node",
            on: { try $0.file().directory().openDirectory() }
        ) { (s) throws(Errno) in
            let shown = try s.withListing { (reply) throws(Errno) in
                try s.fileSystem.operations.directories.listWithEntries(s.handle, offset: 0, into: &reply, FaultTree.owner)
            }
            s.gave(shown)
            s.say("\(shown.count)")
        },
        FaultCase("releasedir", "releasedir", on: { try $0.file().openDirectory() }) { (s) throws(Errno) in
            s.fileSystem.files.remove(s.handle)
            s.tookBack(s.handle)
        },
        FaultCase("fsyncdir", "fsyncdir", on: { try $0.file().openDirectory() }) { (s) throws(Errno) in
            try s.fileSystem.operations.bytes.syncDirectory(s.handle)
        },
    ]
}
