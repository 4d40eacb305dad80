import Authorization
import LinuxSystem

// Entries, the caller, mode bits and flags (S1 to S28, S52, S53).
extension CaseList {
    mutating func addEntries() {
        add(9, title: "an unknown identity applies to no caller") { scene in
            let identity = "01234567-89AB-CDEF-0123-456789ABCDEF"
            scene.file("./denied", 0o644, acl: "\(identity) deny read")
            scene.file("./allowed", 0o600, acl: "\(identity) allow read")
            scene.read(scene.bob, "./denied")
            scene.read(scene.bob, "./allowed", gives: "EACCES")
        }
        add(11, title: "adding a deny grants nothing, adding an allow denies nothing") { scene in
            scene.file("./closed", 0o600)
            scene.file("./open", 0o644)
            scene.read(scene.bob, "./closed", gives: "EACCES")
            scene.read(scene.bob, "./open")
            scene.call(scene.root, "setxattr", "./closed", "system.aclfs.acl", scene.deny(scene.numbers.bob, "write"))
            scene.call(scene.root, "setxattr", "./open", "system.aclfs.acl", scene.allow(scene.numbers.carol, "write"))
            scene.read(scene.bob, "./closed", gives: "EACCES")
            scene.read(scene.bob, "./open")
        }
        add(28, title: "an entry denies and a flag forbids: EACCES") { scene in
            scene.file("./f", 0o666, acl: scene.deny(scene.numbers.bob, "write"), flags: "uchg")
            scene.write(scene.bob, "./f", gives: "EACCES")
            scene.write(scene.carol, "./f", gives: "EPERM")
        }
        add(52, title: "what one caller may do is never answered to another from a cache") { scene in
            scene.directory("./d", 0o755)
            scene.directory("./d/in", 0o755, acl: scene.deny(scene.numbers.bob, "search"))
            scene.file("./d/in/f", 0o644)
            scene.call(scene.alice, "stat", "./d/in/f")
            scene.call(scene.bob, "stat", "./d/in/f", gives: "EACCES")
            scene.call(scene.alice, "removexattr", "./d/in", "system.aclfs.acl")
            scene.call(scene.bob, "stat", "./d/in/f")
            scene.call(scene.alice, "setxattr", "./d/in", "system.aclfs.acl", scene.deny(scene.numbers.bob, "search"))
            scene.call(scene.bob, "stat", "./d/in/f", gives: "EACCES")
            scene.call(scene.carol, "stat", "./d/in/f")
        }
    }

    mutating func addCallers() {
        add(14, title: "root executes a regular file only if it has an x bit") { scene in
            scene.file("./none", 0o644)
            scene.file("./one", 0o001)
            scene.call(scene.root, "exec", "./none", gives: "EACCES")
            // The kernel has read the text, which is no program.
            scene.call(scene.root, "exec", "./one", gives: "ENOEXEC")
        }
        add(16, title: "the owner sees attributes and entries although readsecurity is denied") { scene in
            scene.file("./f", 0o644, acl: "group:everyone deny readsecurity")
            scene.call(scene.alice, "stat", "./f")
            scene.call(scene.alice, "getxattr", "./f", "system.aclfs.acl", expecting: .list("group:everyone deny readsecurity"))
            scene.call(scene.bob, "stat", "./f", gives: "EACCES")
        }
        add(16, title: "the owner can be denied readattr") { scene in
            scene.file("./f", 0o644, acl: scene.deny(scene.numbers.alice, "readattr"))
            scene.call(scene.alice, "stat", "./f", gives: "EACCES")
        }
        add(53, title: "the gid or the list of the process makes a member, nothing else") { scene in
            scene.file("./f", 0o640, group: scene.numbers.ops)
            scene.read(Subject(uid: scene.numbers.carol, gid: scene.numbers.ops), "./f")
            scene.read(scene.bob, "./f")
            scene.read(scene.carol, "./f", gives: "EACCES")
            scene.file("./entry", 0o600, acl: "group:#\(scene.numbers.ops) allow read")
            scene.read(Subject(uid: scene.numbers.carol, gid: scene.numbers.ops), "./entry")
            scene.read(scene.bob, "./entry")
            scene.read(scene.carol, "./entry", gives: "EACCES")
        }
        add(38, title: "access asks for the real ids") { scene in
            scene.file("./f", 0o600)
            let mixed = Subject(
                uid: scene.numbers.alice, gid: scene.numbers.staff, realUID: scene.numbers.bob, realGID: scene.numbers.staff)
            scene.read(mixed, "./f")
            scene.call(mixed, "access", "./f", "4", "0", gives: "EACCES")
            scene.call(mixed, "access", "./f", "4", "512")
        }
    }

    // Delete, rename, links (S29 to S37, S44, S69).
    mutating func addNames() {
        add(33, title: "a renamed directory must grant add_subdirectory on itself") { scene in
            scene.directory("./p", 0o755)
            scene.directory("./p/closed", 0o555)
            scene.directory("./p/open", 0o755)
            scene.directory("./p/entry", 0o555, acl: scene.allow(scene.numbers.alice, "add_subdirectory"))
            scene.call(scene.alice, "rename", "./p/closed", "./p/closed2", "0", gives: "EACCES")
            scene.call(scene.alice, "rename", "./p/open", "./p/open2", "0")
            scene.call(scene.alice, "rename", "./p/entry", "./p/entry2", "0")
        }
        add(34, title: "a hard link needs no right on the object") { scene in
            scene.directory("./p", 0o755)
            scene.file("./p/f", 0o000)
            scene.call(scene.alice, "link", "./p/f", "./p/g")
        }
        add(34, title: "flags of the object forbid a hard link") { scene in
            scene.directory("./p", 0o755)
            scene.file("./p/f", 0o644, flags: "uchg")
            scene.call(scene.alice, "link", "./p/f", "./p/g", gives: "EPERM")
        }
        add(44, title: "a moved or linked object keeps its entries") { scene in
            let entry = scene.deny(scene.numbers.carol, "write")
            scene.directory("./from", 0o755)
            scene.directory("./to", 0o755, acl: scene.allow(scene.numbers.bob, "read,file_inherit"))
            scene.file("./from/f", 0o644, acl: entry)
            scene.file("./from/bare", 0o644)
            scene.call(scene.alice, "rename", "./from/f", "./to/f", "0")
            scene.call(scene.alice, "rename", "./from/bare", "./to/bare", "0")
            scene.call(scene.alice, "link", "./to/f", "./from/g")
            scene.list(of: "./to/f", is: entry)
            scene.list(of: "./from/g", is: entry)
            scene.call(scene.root, "getxattr", "./to/bare", "system.aclfs.acl", gives: "ENODATA")
        }
        add(69, title: "where hard links are protected, the caller owns the object or may read and write it") { scene in
            if !KernelSettings.protectsHardLinks { scene.skipped = "fs.protected_hardlinks is off on this system" }
            scene.directory("./p", 0o777)
            scene.file("./p/f", 0o644)
            scene.file("./p/g", 0o666)
            scene.call(scene.bob, "link", "./p/f", "./p/f2", gives: "EPERM")
            scene.call(scene.bob, "link", "./p/g", "./p/g2")
            scene.call(scene.alice, "link", "./p/f", "./p/f3")
        }
    }
}
