import Glibc

/// One way to take a right away, and what the others see of it.
struct RevocationWay {
    var name: String
    var taker = TestUser.alice
    /// By root, once, before anything runs; `ActingProcess` words.
    var prepare: [[String]] = []
    var take: [RaceCall]
    var give: [RaceCall]
    /// Made by processes of Bob's without pause; only the first is waited for.
    var checks: [[RaceCall]]
    /// Made by Carol, from whom nothing is taken, unless it says so.
    var bystander: [RaceCall] = []
}

/// The tree in which a right is taken: `c` with a file `f` and a directory `s`, in which is `x`; and `closed`, 0700.
/// All of it is Alice's; the group is nobody's.
struct RevocationTree {
    var top: String

    var c: String { top + "/c" }
    var f: String { c + "/f" }
    var s: String { c + "/s" }
    var x: String { s + "/x" }
    var closed: String { top + "/closed" }

    func make(_ root: ActingProcess) throws {
        for (path, mode) in [(top, "0755"), (c, "0777"), (s, "0777"), (closed, "0700")] {
            try root.must("mkdir", path, mode, "0")
        }
        for path in [f, x] {
            try root.must("hold", "1", path, String(O_CREAT | O_WRONLY), "0777")
            // Printable, so that the kernel does not look for a module that could run it.
            try root.must("write", "1", "no program")
            try root.must("close", "1")
            try root.must("chmod", path, "0777")
        }
        for path in [f, x, s, c, closed, top] { try root.must("chown", path, "501", "650") }
    }

    /// What Bob does as long as he can pass.
    private func walks(_ granted: String = "ok", _ taken: String = "EACCES") -> [[RaceCall]] {
        [[RaceCall("stat", x), RaceCall("read", f)], [RaceCall("list", s), RaceCall("access", f, "4")]].map { calls in
            calls.map { $0.gives(granted, taken) }
        }
    }

    /// By both.
    private func each(_ calls: RaceCall...) -> [[RaceCall]] { [calls, calls] }

    private func acl(_ path: String, _ text: String) -> RaceCall { RaceCall("setxattr", path, "system.aclfs.acl", text) }
    private func noACL(_ path: String) -> RaceCall { RaceCall("removexattr", path, "system.aclfs.acl") }
    private func flags(_ path: String, _ words: String) -> RaceCall {
        RaceCall("setxattr", path, "system.aclfs.flags", words)
    }

    /// An entry comes and goes; the bystander's outcome stays.
    private func denial(_ right: String, on path: String, _ checks: [[RaceCall]]) -> RevocationWay {
        let place = path.split(separator: "/").last ?? ""
        return RevocationWay(
            name: "deny \(right) on \(place)", take: [acl(path, "user:#502 deny \(right)")], give: [noACL(path)],
            checks: checks, bystander: (checks.last ?? []).map { $0.always($0.granted) })
    }

    var all: [RevocationWay] { modesAndOwners + searchEntries + otherEntries + flagWays + moves + exchanges }

    private var modesAndOwners: [RevocationWay] {
        [
            RevocationWay(
                name: "mode of the directory", take: [RaceCall("chmod", c, "0700")],
                give: [RaceCall("chmod", c, "0755")], checks: walks(), bystander: walks()[0]),
            RevocationWay(
                name: "mode of a directory two levels above", take: [RaceCall("chmod", top, "0700")],
                give: [RaceCall("chmod", top, "0755")], checks: walks(), bystander: walks()[0]),
            RevocationWay(
                name: "owner", taker: .root, prepare: [["chown", c, "502", "650"], ["chmod", c, "0700"]],
                take: [RaceCall("chown", c, "501", "-1")], give: [RaceCall("chown", c, "502", "-1")], checks: walks(),
                bystander: walks("EACCES")[0]),
            RevocationWay(
                name: "group", taker: .root, prepare: [["chmod", c, "0705"]],
                take: [RaceCall("chown", c, "-1", "601")], give: [RaceCall("chown", c, "-1", "650")], checks: walks(),
                bystander: walks("ok", "ok")[0]),
        ]
    }

    private var searchEntries: [RevocationWay] {
        [
            denial("search", on: top, walks()),
            RevocationWay(
                name: "deny search to a group", take: [acl(c, "group:#601 deny search")], give: [noACL(c)],
                checks: walks(), bystander: walks("ok", "ok")[0]),
            RevocationWay(
                name: "deny search to everyone", take: [acl(c, "everyone deny search")], give: [noACL(c)],
                checks: walks(), bystander: walks()[0]),
            RevocationWay(
                name: "an allow entry goes",
                prepare: [["chmod", c, "0700"], ["setxattr", c, "system.aclfs.acl", "user:#502 allow search"]],
                take: [noACL(c)], give: [acl(c, "user:#502 allow search")], checks: walks(), bystander: walks("EACCES")[0]),
            RevocationWay(
                name: "everyone's allow entry goes",
                prepare: [["chmod", c, "0700"], ["setxattr", c, "system.aclfs.acl", "everyone allow search"]],
                take: [noACL(c)], give: [acl(c, "everyone allow search")], checks: walks(), bystander: walks()[0]),
        ]
    }

    private var otherEntries: [RevocationWay] {
        let (new, readable) = (c + "/new@", "user:#502 allow readsecurity")
        return [
            denial("read", on: f, each(RaceCall("read", f).gives("ok", "EACCES"), RaceCall("stat", f).always("ok"))),
            denial("readattr", on: f, each(RaceCall("stat", f).gives("ok", "EACCES"), RaceCall("write", f).always("ok"))),
            denial("readattr", on: s, each(RaceCall("stat", s).gives("ok", "EACCES"), RaceCall("stat", x).always("ok"))),
            RevocationWay(
                name: "deny readsecurity", prepare: [["setxattr", s, "system.aclfs.acl", readable]],
                take: [acl(s, "user:#502 deny readsecurity")], give: [acl(s, readable)],
                checks: each(RaceCall("getxattr", s, "system.aclfs.acl").gives("ok", "EACCES")),
                bystander: [RaceCall("getxattr", s, "system.aclfs.acl").always("ok")]),
            // The directory passes on what is denied; the files get it by one request about the directory.
            RevocationWay(
                name: "lists of files",
                prepare: [["setxattr", c, "system.aclfs.acl", "user:#502 deny readattr,read,file_inherit,only_inherit"]],
                take: [RaceCall("lists", c, "1", "f")], give: [RaceCall("lists", c, "3", "f")],
                checks: each(RaceCall("stat", f).gives("ok", "EACCES"), RaceCall("access", f, "4").gives("ok", "EACCES")),
                bystander: [RaceCall("stat", f).always("ok"), RaceCall("read", f).always("ok")]),
            // As far as the kernel gets with a file that is no program.
            denial("execute", on: f, each(RaceCall("exec", f).gives("ENOEXEC", "EACCES"))),
            denial("list", on: s, each(RaceCall("list", s).gives("ok", "EACCES"), RaceCall("stat", x).always("ok"))),
            denial("add_file", on: c, each(RaceCall("create", new).gives("ok", "EACCES"), RaceCall("unlink", new))),
            denial(
                "delete_child", on: c, each(RaceCall("create", new).always("ok"), RaceCall("unlink", new).gives("ok", "EACCES"))),
            // A directory that is not empty tells whether it might have been removed.
            denial("delete", on: s, each(RaceCall("rmdir", s).gives("ENOTEMPTY", "EACCES"))),
        ]
    }

    private var flagWays: [RevocationWay] {
        let writes = [RaceCall("write", f).gives("ok", "EPERM"), RaceCall("read", f).always("ok")]
        let removal = RaceCall("rmdir", s).gives("ENOTEMPTY", "EPERM")
        func way(_ name: String, _ taker: TestUser, _ take: RaceCall, _ give: RaceCall, _ checks: [RaceCall]) -> RevocationWay {
            RevocationWay(name: name, taker: taker, take: [take], give: [give], checks: [checks, checks], bystander: checks)
        }
        return [
            way("uchg on a file", .alice, flags(f, "uchg"), flags(f, "-"), writes),
            way("uchg on a directory", .alice, flags(c, "uchg"), flags(c, "-"), [removal]),
            way("chattr +i", .root, RaceCall("chattr", f, "+i"), RaceCall("chattr", f, "-i"), writes),
            way("chattr +a", .root, RaceCall("chattr", f, "+a"), RaceCall("chattr", f, "-a"), writes),
            way("chattr +i on a directory", .root, RaceCall("chattr", c, "+i"), RaceCall("chattr", c, "-i"), [removal]),
        ]
    }

    /// What stood open stands in `closed` now, under another name.
    private func hiding(_ name: String, _ place: String, _ below: String, take: [RaceCall], give: [RaceCall]) -> RevocationWay {
        let hidden = closed + "/moved" + below
        let checks = [
            RaceCall("stat", place + below).gives("ok", "ENOENT"), RaceCall("stat", hidden).always("EACCES"),
            RaceCall("read", hidden).always("EACCES"),
        ]
        return RevocationWay(name: name, take: take, give: give, checks: [checks, checks], bystander: checks)
    }

    private var moves: [RevocationWay] {
        let hidden = closed + "/moved"
        func move(_ name: String, _ place: String, _ below: String) -> RevocationWay {
            hiding(
                name, place, below, take: [RaceCall("rename", place, hidden)], give: [RaceCall("rename", hidden, place)])
        }
        return [
            move("rename of a file into a closed directory", f, ""),
            move("rename of a directory into a closed one", s, "/x"),
            move("rename of an ancestor into a closed directory", c, "/s/x"),
            hiding(
                "link into a closed directory, unlink of the open name", f, "",
                take: [RaceCall("link", f, hidden), RaceCall("unlink", f)],
                give: [RaceCall("link", hidden, f), RaceCall("unlink", hidden)]),
        ]
    }

    private var exchanges: [RevocationWay] {
        let (hidden, open, shut) = (closed + "/moved", c + "/open", c + "/shut")
        func directory(_ path: String, _ mode: String) -> [[String]] {
            [["mkdir", path, mode, "0"], ["create", path + "/y", "0644", "0"], ["chown", path, "501", "650"]]
        }
        let swap = [RaceCall("exchange", open, shut)]
        let checks = [
            RaceCall("stat", open + "/y").gives("ok", "EACCES"), RaceCall("list", open).gives("ok", "EACCES"),
            RaceCall("stat", shut + "/y").gives("EACCES", "ok"),
        ]
        var intoClosed = hiding(
            "exchange into a closed directory", s, "/x", take: [RaceCall("exchange", s, hidden)],
            give: [RaceCall("exchange", s, hidden)])
        intoClosed.prepare = directory(hidden, "0755")
        return [
            intoClosed,
            RevocationWay(
                name: "exchange of an open directory with a closed one",
                prepare: directory(open, "0755") + directory(shut, "0700"), take: swap, give: swap,
                checks: [checks, checks], bystander: checks),
        ]
    }
}
