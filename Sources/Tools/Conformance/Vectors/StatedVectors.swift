/// The vectors of Tests/Vectors/vectors.json, as values: the installed program carries them (docs/internals/conformance.md "How it is built"). A test
/// compares all but the titles with that file.
public enum StatedVectors {
    public static let all = v001to023 + v024to042 + v043to063 + v064to084

    private static let v001to023: [Vector] = [
        Vector(
            "V001", "owner reads own 0600 file",
            .alice, .open("O_RDONLY"), .allow("posix:owner:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o600)),
        Vector(
            "V002", "owner with no owner bits is refused although group and other bits would allow (best match, no fall-through)",
            .alice, .open("O_RDONLY"), .deny("EACCES", "posix:owner:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o77)),
        Vector(
            "V003", "group member is refused by 0604 although other bits would allow",
            .bob, .open("O_RDONLY"), .deny("EACCES", "posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o604)),
        Vector(
            "V004", "group bits grant a member",
            .bob, .open("O_RDONLY"), .allow("posix:group:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o640)),
        Vector(
            "V005", "non-member uses other bits",
            .bob, .open("O_WRONLY"), .deny("EACCES", "posix:other:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 600, 0o664)),
        Vector(
            "V006", "root reads a 0000 file of another user",
            .root, .open("O_RDONLY"), .allow("root"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o0)),
        Vector(
            "V007", "user allow entry grants although mode bits refuse",
            .bob, .open("O_RDONLY"), .allow("acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o600, acl: [.allow("user:502", "read")])),
        Vector(
            "V008", "user deny entry refuses although mode bits allow",
            .bob, .open("O_RDONLY"), .deny("EACCES", "acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, acl: [.deny("user:502", "read")])),
        Vector(
            "V009", "deny placed before allow wins",
            .bob, .open("O_RDONLY"), .deny("EACCES", "acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o644, acl: [.deny("group:601", "read"), .allow("user:502", "read")])),
        Vector(
            "V010", "allow placed before deny wins for a single right: scan stops once everything asked is granted",
            .bob, .open("O_RDONLY"), .allow("acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o600, acl: [.allow("user:502", "read"), .deny("everyone", "read")])),
        Vector(
            "V011", "entry naming rights not asked for is ignored",
            .bob, .open("O_RDONLY"), .allow("posix:other:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 600, 0o644, acl: [.deny("user:502", "write", "append")])),
        Vector(
            "V012", "one right from the ACL, the other from mode bits",
            .bob, .open("O_RDWR"), .allow("posix:other:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 600, 0o602, acl: [.allow("user:502", "read")])),
        Vector(
            "V013", "one right from the ACL, the other refused by mode bits",
            .bob, .open("O_RDWR"), .deny("EACCES", "posix:other:object"),
            parent: .dir(501, 20, 0o755), object: .file(501, 600, 0o604, acl: [.allow("user:502", "read")])),
        Vector(
            "V014", "deny of one of two rights refuses the whole request",
            .bob, .open("O_RDWR"), .deny("EACCES", "acl:object[1]"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o666, acl: [.allow("user:502", "read"), .deny("everyone", "write")])),
        Vector(
            "V015", "root is not subject to deny entries",
            .root, .open("O_RDWR"), .allow("root"),
            parent: .dir(501, 20, 0o755), object: .file(501, 20, 0o0, acl: [.deny("everyone", "read", "write", "append", "delete")])),
        Vector(
            "V016", "inherit-only entry takes no part in evaluation",
            .bob, .plain("readdir"), .allow("posix:other:object"),
            parent: .dir(501, 20, 0o755),
            object: .dir(
                501, 600, 0o755, acl: [.deny("everyone", "list", "search", flags: ["only_inherit", "file_inherit", "directory_inherit"])])),
        Vector(
            "V017", "delete another user's file in a group-writable directory",
            .bob, .plain("unlink"), .allow("posix:group:parent"),
            parent: .dir(501, 20, 0o775), object: .file(501, 20, 0o0)),
        Vector(
            "V018", "delete needs write on the parent, not on the item",
            .alice, .plain("unlink"), .deny("EACCES", "posix:other:parent"),
            parent: .dir(502, 601, 0o755), object: .file(501, 20, 0o777)),
        Vector(
            "V019", "sticky parent: not owner of item nor of parent",
            .bob, .plain("unlink"), .deny("EACCES", "sticky"),
            parent: .dir(0, 0, 0o1777), object: .file(501, 20, 0o666)),
        Vector(
            "V020", "sticky parent: owner of the item",
            .alice, .plain("unlink"), .allow("posix:other:parent"),
            parent: .dir(0, 0, 0o1777), object: .file(501, 20, 0o600)),
        Vector(
            "V021", "sticky parent: owner of the directory removes another user's file",
            .bob, .plain("unlink"), .allow("posix:owner:parent"),
            parent: .dir(502, 20, 0o1777), object: .file(501, 20, 0o600)),
        Vector(
            "V022", "sticky parent: root removes anything",
            .root, .plain("unlink"), .allow("root"),
            parent: .dir(502, 20, 0o1777), object: .file(501, 20, 0o600)),
        Vector(
            "V023", "home-folder style protection: everyone deny delete on the item stops even the owner",
            .alice, .plain("rmdir"), .deny("EACCES", "acl:object[0]"),
            parent: .dir(501, 20, 0o755), object: .dir(501, 20, 0o700, acl: [.deny("everyone", "delete")])),
    ]
}
