extension StatedVectors {
    static let v064to084: [Vector] = [
        Vector(
            "V064", "ACL allow does not lift an immutable flag",
            .bob, .open("O_WRONLY"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o600, ["uchg"], acl: [.allow("user:502", "write")])),
        Vector(
            "V065", "owner clears uchg on the own file",
            .alice, .chflags(), .allow("owner_right", flags: []),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V066", "root clears schg at securelevel 0",
            .root, .chflags(), .allow("root", flags: []),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["schg"])),
        Vector(
            "V067", "owner cannot set a system flag",
            .alice, .chflags("schg"), .deny("EPERM", "attr_policy"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644)),
        Vector(
            "V068", "chmod by the owner of an immutable file",
            .alice, .chmod(0o600), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V069", "extended attribute write is refused on an immutable file",
            .alice, .xattr("setxattr", "user.note"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V070", "append plus truncate on an append-only file is a write",
            .alice, .open("O_WRONLY", "O_APPEND", "O_TRUNC"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uappnd"])),
        Vector(
            "V071", "read-only open with truncate asks for write",
            .bob, .open("O_RDONLY", "O_TRUNC"), .deny("EACCES", "posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644)),
        Vector(
            "V072", "root may search a directory with no x bit",
            .root, .plain("lookup"), .allow("root"),
            parent: .dir(501, 20, 0o755), object: .dir(501, 20, 0o0)),
        Vector(
            "V073", "an ACL with zero entries is not deny-all",
            .bob, .open("O_RDONLY"), .allow("posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o640, acl: [])),
        Vector(
            "V074", "root cannot chown an immutable file",
            .root, .chown(uid: 502), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["schg"])),
        Vector(
            "V075", "create ignores requested set-id and sticky bits and takes the parent's group",
            .bob, .new("create", 0o7755, umask: 0o22), .allow("posix:other:parent", owner: 502, group: 600, mode: 0o755, acl: .absent),
            parent: .dir(501, 600, 0o777)),
        Vector(
            "V076", "file creation copies file-inherit entries, marks them inherited and strips inheritance control",
            .bob, .new("create", 0o600, umask: 0o77),
            .allow(
                "posix:group:parent", owner: 502, group: 20, mode: 0o600,
                acl: .present([.deny("group:601", "readextattr", flags: ["inherited"]), .allow("user:503", "read", flags: ["inherited"])])),
            parent: .dir(
                501, 20, 0o775,
                acl: [
                    .deny("group:601", "readextattr", flags: ["file_inherit"]),
                    .allow("user:503", "read", flags: ["file_inherit", "directory_inherit", "only_inherit"]),
                    .allow("user:504", "read", flags: ["directory_inherit"]),
                ])),
        Vector(
            "V077", "directory creation keeps inheritance flags and clears inherit-only",
            .bob, .new("mkdir", 0o755, umask: 0o22),
            .allow(
                "posix:group:parent", owner: 502, group: 20, mode: 0o755,
                acl: .present([.allow("user:503", "list", "search", flags: ["inherited", "file_inherit", "directory_inherit"])])),
            parent: .dir(
                501, 20, 0o775, acl: [.allow("user:503", "list", "search", flags: ["file_inherit", "directory_inherit", "only_inherit"])])),
        Vector(
            "V078", "sticky directory: another user may not rename the owner's file",
            .bob, .plain("rename"), .deny("EACCES", "sticky"),
            parent: .dir(0, 0, 0o1777), object: .file(501, 20, 0o666)),
        Vector(
            "V079", "rename from one directory to another: removal checked on the source parent",
            .bob, .plain("rename"), .deny("EACCES", "posix:group:parent"),
            parent: .dir(501, 20, 0o755), object: .file(502, 20, 0o644), targetParent: .dir(502, 20, 0o755)),
        Vector(
            "V080", "setting an ACL on an immutable file as its owner",
            .alice, .plain("setacl"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V081", "path truncate on an append-only file",
            .alice, .plain("truncate"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uappnd"])),
        Vector(
            "V082", "hard link on a read-only volume",
            .alice, .plain("link"), .deny("EROFS", "precondition:read_only"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644), targetParent: .dir(501, 20, 0o755), readOnly: true),
        Vector(
            "V083", "root may not chmod an immutable file",
            .root, .chmod(0o600), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V084", "removing an append-only file",
            .alice, .plain("unlink"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uappnd"])),
    ]
}
