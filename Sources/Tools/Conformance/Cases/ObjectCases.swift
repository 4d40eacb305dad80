import ACLFormats
import Authorization

// New objects (S40 to S43, S58, S67) and changes of attributes (S45 to S49, S55 to S57, S65, S72).
extension CaseList {
    mutating func addNewObjects() {
        add(40, title: "entries are inherited by kind and in the order of the parent") { scene in
            let first = "user:#\(scene.numbers.carol) allow read,file_inherit,directory_inherit"
            let second = "group:#\(scene.numbers.eng) deny write,file_inherit"
            scene.directory("./p", 0o777, acl: "\(first)\n\(second)\nuser:#\(scene.numbers.dave) allow execute")
            scene.call(scene.bob, "create", "./p/f", "0644", "022")
            scene.call(scene.bob, "mkdir", "./p/d", "0755", "022")
            scene.call(scene.bob, "symlink", "nowhere", "./p/l")
            scene.list(
                of: "./p/f",
                is: "user:#\(scene.numbers.carol) inherited allow read\ngroup:#\(scene.numbers.eng) inherited deny write")
            scene.list(of: "./p/d", is: "user:#\(scene.numbers.carol) inherited allow read,file_inherit,directory_inherit")
            scene.call(scene.root, "getxattr", "./p/l", "system.aclfs.acl", gives: "ENODATA")
        }
        add(41, title: "limit_inherit ends inheritance at the children, only_inherit is cleared") { scene in
            let words = "list,search,file_inherit,directory_inherit,limit_inherit,only_inherit"
            scene.directory("./p", 0o777, acl: scene.allow(scene.numbers.carol, words))
            scene.call(scene.bob, "mkdir", "./p/d", "0755", "022")
            scene.call(scene.bob, "mkdir", "./p/d/e", "0755", "022")
            scene.list(of: "./p/d", is: "user:#\(scene.numbers.carol) inherited allow list,search")
            scene.call(scene.root, "getxattr", "./p/d/e", "system.aclfs.acl", gives: "ENODATA")
        }
        add(67, title: "new objects of other users in a set-uid directory get its owner, those of root stay root's") { scene in
            scene.directory("./p", 0o4777)
            scene.call(scene.bob, "create", "./p/f", "0666", "0")
            scene.call(scene.bob, "mkdir", "./p/d", "0755", "0")
            scene.call(scene.root, "create", "./p/r", "0644", "0")
            scene.attributes(of: "./p/f", owner: scene.numbers.alice)
            scene.attributes(of: "./p/d", owner: scene.numbers.alice)
            scene.attributes(of: "./p/r", owner: 0)
        }
        add(58, title: "a new object gets the group of its directory, also one that is no gid") { scene in
            let group = "01020304-0506-0708-090A-0B0C0D0E0F10"
            scene.directory("./p", 0o777)
            scene.prepare("setxattr", "./p", "system.aclfs.group", group)
            scene.call(scene.bob, "create", "./p/f", "0644", "0")
            scene.call(scene.root, "getxattr", "./p/f", "system.aclfs.group", expecting: .text(group))
        }
    }

    mutating func addAttributes() {
        add(47, title: "any chown clears set-id bits, also of root") { scene in
            scene.file("./f", 0o6755)
            scene.call(scene.root, "chown", "./f", "\(scene.numbers.bob)", "\(scene.numbers.staff)")
            scene.attributes(of: "./f", owner: scene.numbers.bob, mode: 0o755)
        }
        add(49, title: "a set-id bit that the caller may not set is refused, not cleared") { scene in
            scene.file("./f", 0o755, group: scene.numbers.ops)
            scene.call(scene.alice, "chmod", "./f", "02755", gives: "EPERM")
            scene.attributes(of: "./f", mode: 0o755)
        }
        add(55, title: "a group may own an object: its members have the owner's rights and bits") { scene in
            scene.file("./f", 0o600)
            scene.prepare("setxattr", "./f", "system.aclfs.owner", GUID(group: scene.numbers.ops).uuidText)
            scene.write(scene.bob, "./f")
            scene.call(scene.bob, "chmod", "./f", "0640")
            scene.write(scene.alice, "./f", gives: "EACCES")
            scene.call(scene.alice, "chmod", "./f", "0666", gives: "EPERM")
        }
        add(56, title: "only root sets an owner that is no uid") { scene in
            let group = GUID(group: scene.numbers.eng).uuidText
            scene.file("./f", 0o644, acl: scene.allow(scene.numbers.bob, "chown"))
            scene.call(scene.alice, "setxattr", "./f", "system.aclfs.owner", group, gives: "EPERM")
            scene.call(scene.bob, "setxattr", "./f", "system.aclfs.owner", group, gives: "EPERM")
            scene.call(scene.root, "setxattr", "./f", "system.aclfs.owner", group)
            scene.call(scene.root, "getxattr", "./f", "system.aclfs.owner", expecting: .text(group))
        }
        add(57, title: "naming any uid changes the owner and removes an identity") { scene in
            let group = GUID(group: scene.numbers.ops).uuidText
            scene.file("./f", 0o644)
            scene.prepare("setxattr", "./f", "system.aclfs.owner", group)
            scene.call(scene.root, "getxattr", "./f", "system.aclfs.owner", expecting: .text(group))
            scene.call(scene.root, "chown", "./f", "\(scene.numbers.carol)", "-1")
            scene.attributes(of: "./f", owner: scene.numbers.carol)
            scene.call(
                scene.root, "getxattr", "./f", "system.aclfs.owner", expecting: .text(GUID(user: scene.numbers.carol).uuidText))
        }
        add(65, title: "setting an equal list needs no right, another one does") { scene in
            let entry = scene.deny(scene.numbers.carol, "write")
            scene.file("./f", 0o644, acl: entry)
            scene.call(scene.bob, "setxattr", "./f", "system.aclfs.acl", entry)
            scene.call(scene.bob, "setxattr", "./f", "system.aclfs.acl", scene.allow(scene.numbers.carol, "write"), gives: "EPERM")
            scene.list(of: "./f", is: entry)
        }
        add(72, title: "a write by another user than root clears set-id bits and capabilities") { scene in
            scene.file("./f", 0o6777)
            // Revision 2 of the kernel's form: effective, CAP_NET_BIND_SERVICE permitted.
            let capability: [UInt8] = [1, 0, 0, 2, 0, 4, 0, 0] + Array(repeating: 0, count: 12)
            scene.prepare("setxattr", "./f", "security.capability", value: capability)
            scene.call(scene.bob, "hold", "1", "./f", "1", "0")
            scene.call(scene.bob, "write", "1", "text")
            scene.call(scene.bob, "close", "1")
            scene.attributes(of: "./f", mode: 0o777)
            scene.call(scene.root, "getxattr", "./f", "security.capability", gives: "ENODATA")
        }
    }
}
