extension StatedVectors {
    static let v043to063: [Vector] = [
        Vector(
            "V043", "add_file alone lets files be created",
            .bob, .new("create", 0o644, umask: 0o22), .allow("acl:parent[0]", owner: 502, group: 20, mode: 0o644, acl: .absent),
            parent: .dir(501, 20, 0o755, acl: [.allow("user:502", "add_file")])),
        Vector(
            "V044", "add_file alone does not let directories be created",
            .bob, .new("mkdir", 0o755, umask: 0o22), .deny("EACCES", "posix:group:parent"),
            parent: .dir(501, 20, 0o755, acl: [.allow("user:502", "add_file")])),
        Vector(
            "V045", "stat needs no mode bit on the item",
            .bob, .plain("stat"), .allow("implicit"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o0)),
        Vector(
            "V046", "stat refused by an explicit deny of readattr",
            .bob, .plain("stat"), .deny("EACCES", "acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, acl: [.deny("everyone", "readattr")])),
        Vector(
            "V047", "unprivileged character device creation",
            .alice, .new("mknod", 0o600, type: "chr"), .deny("EPERM", "precondition:superuser"),
            parent: .dir(501, 20, 0o755)),
        Vector(
            "V048", "unprivileged named pipe creation is an ordinary add_file",
            .alice, .new("mkfifo", 0o600, umask: 0o22), .allow("posix:owner:parent", owner: 501, group: 20, mode: 0o600, acl: .absent),
            parent: .dir(501, 20, 0o755)),
        Vector(
            "V049", "rename a file over nothing inside a writable directory",
            .alice, .plain("rename"), .allow("posix:owner:parent"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o444)),
        Vector(
            "V050", "rename over a file protected by deny delete",
            .alice, .plain("rename"), .deny("EACCES", "acl:target[0]"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644), target: .file(501, 20, 0o644, acl: [.deny("everyone", "delete")])),
        Vector(
            "V051", "directory readable but not searchable: listing works",
            .bob, .plain("readdir"), .allow("posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .dir(501, 20, 0o744)),
        Vector(
            "V052", "directory readable but not searchable: traversal fails",
            .bob, .plain("lookup"), .deny("EACCES", "posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .dir(501, 20, 0o744)),
        Vector(
            "V053", "allow search for everyone opens a 0700 directory for traversal",
            .bob, .plain("lookup"), .allow("acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .dir(501, 20, 0o700, acl: [.allow("everyone", "search")])),
        Vector(
            "V054", "deny search stops traversal of a 0755 directory",
            .bob, .plain("lookup"), .deny("EACCES", "acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .dir(501, 20, 0o755, acl: [.deny("group:601", "search")])),
        Vector(
            "V055", "owner without x bit may not execute although group and other may",
            .alice, .plain("execve"), .deny("EACCES", "posix:owner:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o655)),
        Vector(
            "V056", "an entry with the file name of a right works on a directory (write is add_file)",
            .bob, .new("create", 0o644, umask: 0o22), .allow("acl:parent[0]", owner: 502, group: 20, mode: 0o644, acl: .absent),
            parent: .dir(501, 20, 0o755, acl: [.allow("user:502", "write")])),
        Vector(
            "V057", "an entry with the file name of a right works on a directory (append is add_subdirectory)",
            .bob, .new("mkdir", 0o755, umask: 0o22), .allow("acl:parent[0]", owner: 502, group: 20, mode: 0o755, acl: .absent),
            parent: .dir(501, 20, 0o755, acl: [.allow("user:502", "append")])),
        Vector(
            "V058", "sticky parent: owning the item does not replace the missing w bit on the parent",
            .alice, .plain("unlink"), .deny("EACCES", "posix:other:parent"),
            parent: .dir(0, 0, 0o1755), object: .file(501, 20, 0o644)),
        Vector(
            "V059", "delete_child allowed on a parent without write permission",
            .bob, .plain("unlink"), .allow("acl:parent[0]"),
            parent: .dir(501, 20, 0o555, acl: [.allow("user:502", "delete_child")]), object: .file(501, 20, 0o600)),
        Vector(
            "V060", "delete_child denied on a writable parent",
            .bob, .plain("unlink"), .deny("EACCES", "acl:parent[0]"),
            parent: .dir(501, 20, 0o777, acl: [.deny("user:502", "delete_child")]), object: .file(501, 20, 0o666)),
        Vector(
            "V061", "renaming a read-only file in place needs nothing on the file",
            .alice, .plain("rename"), .allow("posix:owner:parent"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o0)),
        Vector(
            "V062", "append-only parent: files may be added",
            .alice, .new("create", 0o644, umask: 0o22), .allow("posix:owner:parent", owner: 501, group: 20, mode: 0o644, acl: .absent),
            parent: .dir(501, 20, 0o755, ["uappnd"])),
        Vector(
            "V063", "append-only file: access W_OK fails",
            .alice, .access("W_OK"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uappnd"])),
    ]
}
