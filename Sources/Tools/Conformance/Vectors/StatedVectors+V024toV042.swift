extension StatedVectors {
    static let v024to042: [Vector] = [
        Vector(
            "V024", "immutable file refuses write to its owner",
            .alice, .open("O_WRONLY"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V025", "immutable file may be read",
            .alice, .open("O_RDONLY"), .allow("posix:owner:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V026", "immutable file refuses removal even to root",
            .root, .plain("unlink"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uchg"])),
        Vector(
            "V027", "append-only file accepts an append open",
            .alice, .open("O_WRONLY", "O_APPEND"), .allow("posix:owner:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uappnd"])),
        Vector(
            "V028", "append-only file refuses a plain write open",
            .alice, .open("O_WRONLY"), .deny("EPERM", "flags:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, ["uappnd"])),
        Vector(
            "V029", "read-only volume refuses root as well",
            .root, .open("O_WRONLY"), .deny("EROFS", "precondition:read_only"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o666), readOnly: true),
        Vector(
            "V030", "chmod by another user",
            .bob, .chmod(0o600), .deny("EPERM", "no_bsd_equivalent"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o666)),
        Vector(
            "V031", "chmod by another user who holds writesecurity",
            .bob, .chmod(0o600), .allow("acl:object[0]", mode: 0o600),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o666, acl: [.allow("user:502", "writesecurity")])),
        Vector(
            "V032", "owner keeps chmod although everyone is denied writesecurity",
            .alice, .chmod(0o600), .allow("owner_right", mode: 0o600),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o666, acl: [.deny("everyone", "writesecurity")])),
        Vector(
            "V033", "take-ownership right lets another user become owner; set-id bits go",
            .bob, .chown(uid: 502), .allow("acl:object[0]", owner: 502, group: 20, mode: 0o755),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o6755, acl: [.allow("user:502", "chown")])),
        Vector(
            "V034", "owner may not give a file away",
            .alice, .chown(uid: 502), .deny("EPERM", "attr_policy"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644)),
        Vector(
            "V035", "owner may move the file to a group with the caller as a member",
            .alice, .chown(gid: 600), .allow("owner_right", owner: 501, group: 600, mode: 0o755),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o2755)),
        Vector(
            "V036", "owner may not move the file to a foreign group",
            .alice, .chown(gid: 601), .deny("EPERM", "attr_policy"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644)),
        Vector(
            "V037", "another user with write permission may set times to now",
            .bob, .utimes("now"), .allow("posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o664)),
        Vector(
            "V038", "another user with write permission may not set chosen times",
            .bob, .utimes("explicit"), .deny("EPERM", "attr_policy"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o664)),
        Vector(
            "V039", "another user without write permission setting times to now",
            .bob, .utimes("now"), .deny("EACCES", "posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644)),
        Vector(
            "V040", "reading extended attributes needs the r bit",
            .bob, .xattr("getxattr", "user.note"), .deny("EACCES", "posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o600)),
        Vector(
            "V041", "listing extended attributes needs the r bit too",
            .bob, .plain("listxattr"), .deny("EACCES", "posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o600)),
        Vector(
            "V042", "writing extended attributes needs the w bit",
            .bob, .xattr("setxattr", "user.note"), .allow("posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o660)),
    ]
}
