import Authorization
import WireFormats

// Lists in the forms of other systems (S73, S74, S76, S77, S81).
extension CaseList {
    mutating func addForms() {
        add(73, title: "a value of NFSv4 sets list and mode together, or neither") { scene in
            let entry = scene.allow(scene.numbers.bob, "read,readattr,readextattr,readsecurity")
            scene.file("./f", 0o640, acl: entry)
            scene.file("./g", 0o600)
            scene.file("./h", 0o600)
            scene.call(scene.bob, "copyxattr", "./f", "./h", "system.nfs4_acl", gives: "EPERM")
            scene.attributes(of: "./h", mode: 0o600)
            scene.call(scene.root, "getxattr", "./h", "system.aclfs.acl", gives: "ENODATA")
            scene.call(scene.alice, "copyxattr", "./f", "./g", "system.nfs4_acl")
            scene.attributes(of: "./g", mode: 0o640)
            scene.list(of: "./g", is: entry)
        }
        add(73, title: "a value of NFSv4 that cannot be expressed is refused") { scene in
            scene.file("./f", 0o640)
            // One entry that audits reads by EVERYONE@.
            let audit: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 9] + Array("EVERYONE@".utf8) + [0, 0, 0]
            scene.call(scene.alice, "setxattr", "./f", "system.nfs4_acl", value: audit, expecting: .word("EINVAL"))
            scene.attributes(of: "./f", mode: 0o640)
            scene.call(scene.root, "getxattr", "./f", "system.aclfs.acl", gives: "ENODATA")
        }
        add(74, title: "a copy gets the explicit entries, and keeps those that it inherited") { scene in
            scene.directory("./from", 0o755)
            scene.directory("./to", 0o755, acl: scene.allow(scene.numbers.bob, "read,file_inherit"))
            scene.file("./from/f", 0o644, acl: scene.deny(scene.numbers.carol, "write"))
            scene.call(scene.alice, "create", "./to/f", "0644", "0")
            scene.call(scene.alice, "copyxattr", "./from/f", "./to/f", "com.apple.acl.text")
            scene.list(
                of: "./to/f", is: "user:#\(scene.numbers.carol) deny write\nuser:#\(scene.numbers.bob) inherited allow read")
        }
        add(81, title: "a list with no_inherit keeps out what its directory passes on") { scene in
            let own = "!#acl 1 no_inherit\n" + scene.deny(scene.numbers.carol, "write")
            scene.directory("./from", 0o755)
            scene.directory("./to", 0o755, acl: scene.allow(scene.numbers.bob, "read,file_inherit"))
            scene.file("./from/f", 0o600, acl: own)
            scene.call(scene.alice, "create", "./to/f", "0600", "0")
            scene.call(scene.alice, "copyxattr", "./from/f", "./to/f", "com.apple.acl.text")
            scene.list(of: "./to/f", is: own)
            scene.read(scene.bob, "./to/f", gives: "EACCES")
            // The mark stays where a list without it is copied.
            scene.file("./from/g", 0o600, acl: scene.allow(scene.numbers.bob, "read,inherited"))
            scene.call(scene.alice, "copyxattr", "./from/g", "./to/f", "com.apple.acl.text")
            scene.list(of: "./to/f", is: "!#acl 1 no_inherit")
        }
        add(76, title: "entries and mask of a POSIX ACL decide as POSIX.1e does") { scene in
            scene.file("./f", 0o640)
            scene.call(
                scene.alice, "setxattr", "./f", "system.posix_acl_access",
                value: Self.posix(owner: 6, user: (scene.numbers.bob, 6), group: 0, mask: 4, other: 0))
            scene.read(scene.bob, "./f")
            scene.write(scene.bob, "./f", gives: "EACCES")
            scene.read(scene.carol, "./f", gives: "EACCES")
        }
        add(77, title: "chmod of an object with a POSIX ACL sets the mask") { scene in
            scene.file("./f", 0o600)
            scene.call(
                scene.alice, "setxattr", "./f", "system.posix_acl_access",
                value: Self.posix(owner: 6, user: (scene.numbers.bob, 6), group: 0, mask: 6, other: 0))
            scene.write(scene.bob, "./f")
            scene.call(scene.alice, "chmod", "./f", "0640")
            scene.read(scene.bob, "./f")
            scene.write(scene.bob, "./f", gives: "EACCES")
        }
        add(77, title: "a default POSIX ACL takes the place of the umask") { scene in
            scene.directory("./p", 0o755)
            scene.call(
                scene.alice, "setxattr", "./p", "system.posix_acl_default",
                value: Self.posix(owner: 7, user: (scene.numbers.bob, 6), group: 4, mask: 6, other: 4))
            scene.call(scene.alice, "create", "./p/f", "0666", "077")
            scene.attributes(of: "./p/f", mode: 0o664)
            scene.write(scene.bob, "./p/f")
        }
    }

    /// The bytes of a POSIX ACL with one named user.
    private static func posix(owner: UInt16, user: (UInt32, UInt16), group: UInt16, mask: UInt16, other: UInt16) -> [UInt8] {
        let list = PosixList(owner: owner, users: [.init(user.0, user.1)], group: group, mask: mask, other: other)
        return PosixWire.bytes(list.wireEntries)
    }
}
