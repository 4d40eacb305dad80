import Authorization
import FuseSession
import Glibc
import LinuxSystem

@testable import ACLFileSystem

// What is found and asked.
extension FaultCase {
    static let findings: [FaultCase] = [
        FaultCase("lookup", "lookup", on: { try $0.file() }) { (s) throws(Errno) in
            switch try s.fileSystem.operations.lookups.lookup("file", in: s.directory, FaultTree.owner) {
            case .found(let entry): s.gave(entry)
            case .absent: s.say("absent")
            }
        },
        // A POSIX ACL that cannot be read names everybody but the owner (docs/reference/authorization.md Q22).
        FaultCase("lookup of a directory", "lookup", errors: [.acces], on: { try $0.directory() }) { (s) throws(Errno) in
            switch try s.fileSystem.operations.lookups.lookup("directory", in: s.directory, FaultTree.stranger) {
            case .found(let entry): s.gave(entry)
            case .absent: s.say("absent")
            }
        },
        FaultCase("lookup in vain", "lookup") { (s) throws(Errno) in
            guard case .absent = try s.fileSystem.operations.lookups.lookup("nothing", in: s.directory, FaultTree.owner) else {
                throw .exist
            }
        },
        FaultCase("forget", "forget", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            s.fileSystem.operations.lookups.forgetLookups(of: s["file"], 1)
            s.tookBack(s["file"])
        },
        FaultCase("getattr", "getattr", "statx", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            s.say(try s.fileSystem.operations.attributes.status(s["file"], nil, FaultTree.owner).attributes)
        },
        FaultCase("getattr through a handle", "getattr", "statx", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            s.say(try s.fileSystem.operations.attributes.status(s["file"], s.handle, FaultTree.owner).attributes)
        },
        FaultCase("access", "access", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.attributes.access(s["file"], mask: 6, FaultTree.owner)
        },
        // Refused by an entry, whatever fails.
        FaultCase("access of a stranger", "access", errors: [.acces], on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            do throws(Errno) { try s.fileSystem.operations.attributes.access(s["file"], mask: 4, FaultTree.stranger) } catch {
                guard error == .acces else { throw error }
                return s.say("refused")
            }
        },
        FaultCase("readlink", "readlink", on: { try $0.symlink().knows("symlink") }) { (s) throws(Errno) in
            s.say("\(try s.fileSystem.operations.attributes.readLink(s["symlink"], FaultTree.owner))")
        },
        FaultCase("statfs", "statfs") { (s) throws(Errno) in
            s.say("\(try s.fileSystem.operations.attributes.statistics(s.directory, FaultTree.owner).blockSize)")
        },
    ]
}

// What is made.
extension FaultCase {
    private static func make(_ name: String, _ request: String, mode: UInt32, _ new: @escaping @Sendable () -> NewObject) -> FaultCase {
        FaultCase(name, request, makes: "new") { (s) throws(Errno) in
            s.gave(try s.fileSystem.operations.names.make(new(), "new", in: s.directory, mode: mode, FaultTree.owner))
        }
    }

    static let creations: [FaultCase] = [
        make("mkdir", "mkdir", mode: 0o755) { .directory },
        make("mknod of a FIFO", "mknod", mode: 0o644) { .special(.fifo, device: 0) },
        make("mknod of a file", "mknod", mode: 0o644) { .file },
        FaultCase("symlink", "symlink", makes: "new") { (s) throws(Errno) in
            let result = "target".withCString { target in
                Result { () throws(Errno) in
                    try s.fileSystem.operations.names.make(.symlink(target: target), "new", in: s.directory, mode: 0o777, FaultTree.owner)
                }
            }
            s.gave(try result.get())
        },
        FaultCase("create", "create", makes: "new") { (s) throws(Errno) in
            s.gave(
                try s.fileSystem.operations.opens.createAndOpen(
                    "new", in: s.directory, flags: O_RDWR | O_CREAT, mode: 0o644, FaultTree.owner))
        },
        FaultCase("create for reading", "create", makes: "new") { (s) throws(Errno) in
            s.gave(
                try s.fileSystem.operations.opens.createAndOpen(
                    "new", in: s.directory, flags: O_RDONLY | O_CREAT, mode: 0o444, FaultTree.owner))
        },
        FaultCase("create of what came meanwhile", "create", on: { try $0.file() }) { (s) throws(Errno) in
            s.gave(
                try s.fileSystem.operations.opens.createAndOpen(
                    "file", in: s.directory, flags: O_RDWR | O_CREAT, mode: 0o644, FaultTree.owner))
        },
        FaultCase("tmpfile", "tmpfile") { (s) throws(Errno) in
            s.gave(try s.fileSystem.operations.opens.openUnnamed(in: s.directory, flags: O_RDWR, mode: 0o644, FaultTree.owner))
        },
        FaultCase("link", "link", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            s.gave(try s.fileSystem.operations.names.link(s["file"], as: "new", in: s.directory, FaultTree.owner))
        },
    ]
}

// Names that go and move.
extension FaultCase {
    private static func rename(
        _ name: String, _ from: String, _ to: String, flags: UInt32 = 0, on prepare: @escaping @Sendable (FaultScene) throws -> Void
    ) -> FaultCase {
        func parted(_ path: String) -> (String, String) {
            let parts = path.split(separator: "/").map(String.init)
            return (parts.dropLast().joined(separator: "/"), parts.last ?? "")
        }
        let (old, new) = (parted(from), parted(to))
        return FaultCase("rename \(name)", "rename", on: prepare) { (s) throws(Errno) in
            try s.fileSystem.operations.names.rename(old.1, in: s[old.0], to: new.1, in: s[new.0], flags: flags, FaultTree.owner)
        }
    }

    static let names: [FaultCase] = [
        FaultCase("unlink", "unlink", on: { try $0.file().knows("file") }) { (s) throws(Errno) in
            try s.fileSystem.operations.names.remove("file", in: s.directory, directory: false, FaultTree.owner)
        },
        FaultCase("unlink of an open file", "unlink", on: { try $0.file().open("file", O_RDWR) }) { (s) throws(Errno) in
            try s.fileSystem.operations.names.remove("file", in: s.directory, directory: false, FaultTree.owner)
        },
        FaultCase("rmdir", "rmdir", on: { try $0.directory().knows("directory") }) { (s) throws(Errno) in
            try s.fileSystem.operations.names.remove("directory", in: s.directory, directory: true, FaultTree.owner)
        },
        rename("within a directory", "file", "new", on: { try $0.file().knows("file") }),
        rename("into another", "file", "directory/new", on: { try $0.file().directory().knows("file", "directory") }),
        rename("of a directory", "other", "directory/new", on: { try $0.directory().directory("other").knows("other", "directory") }),
        rename("over a file", "file", "victim", on: { try $0.file().file("victim", "goes").knows("file", "victim") }),
        rename("over a directory", "other", "directory", on: { try $0.directory().directory("other").knows("other", "directory") }),
        rename("without replacing", "file", "new", flags: RenameFlag.noReplace, on: { try $0.file().knows("file") }),
        rename(
            "as an exchange", "file", "directory", flags: RenameFlag.exchange, on: { try $0.file().directory().knows("file", "directory") }),
    ]
}
