import ACLFormats
import Glibc
import TestSupport
import Testing

/// Three keys and a flag are one state, for each user who holds the right (docs/guide/backup.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct BackupTests {
    private let fixture: MountFixture
    private let root: ActingProcess
    private let alice: ActingProcess
    private let bob: ActingProcess
    /// As callers spell them.
    private static let spellings: [(name: String, value: [UInt8])] = [
        ("com.apple.metadata:com_apple_backup_excludeItem", BackupMark.excludeItem.value),
        ("user.com.apple.metadata:com_apple_backup_excludeItem", BackupMark.excludeItem.value),
        ("com.apple.MobileBackup", [1]), ("user.com.apple.MobileBackup", [1]),
        ("user.xdg.robots.backup", Array("false".utf8)),
    ]

    init() throws {
        fixture = try MountFixture()
        root = try ActingProcess(.root)
        alice = try ActingProcess(.alice)
        bob = try ActingProcess(.bob)
        try root.must("chmod", fixture.mountpoint, "0777")
    }

    /// alice's.
    private func make(_ name: String, acl: String? = nil) throws -> String {
        let path = fixture.path(name)
        try alice.must("create", path, "0644", "0")
        if let acl { try alice.must("setxattr", path, "system.aclfs.acl", acl) }
        return path
    }

    /// What all four readers say; they must agree.
    private func isExcluded(_ path: String) throws -> Bool {
        var answers: [Bool] = []
        for spelling in Self.spellings {
            let result = try root.call("getxattr", path, spelling.name)
            if result.isOK {
                #expect(unescaped(result.value) == spelling.value, "\(spelling.name)")
            } else {
                #expect(result.word == "ENODATA")
            }
            answers.append(result.isOK)
        }
        answers.append(try root.must("getxattr", path, "system.aclfs.flags").contains("nodump"))
        answers.append(try TestUser.root.shell("lsattr -d \(path)").output.prefix(20).contains("d"))
        answers.append(try run("ls", "-lOd", path).output.contains("nodump"))
        #expect(Set(answers).count == 1, "the readers disagree: \(answers)")
        return answers[0]
    }

    private func run(_ words: String...) throws -> CommandResult {
        try Spawn.run([MountTesting.program("aclfs")] + words)
    }

    private func set(_ path: String, _ spelling: (name: String, value: [UInt8]), as user: TestUser) throws -> CommandResult {
        let digits = spelling.value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return try user.run("setfattr", "-n", spelling.name, "-v", "0x" + digits, path)
    }

    @Test func eachSpellingSetsAndClearsAll() throws {
        let path = try make("f")
        #expect(try !isExcluded(path))
        for spelling in Self.spellings {
            for other in Self.spellings {
                #expect(try set(path, spelling, as: .alice).status == 0)
                #expect(try isExcluded(path), "\(spelling.name)")
                try alice.must("removexattr", path, other.name)
                #expect(try !isExcluded(path), "\(other.name) after \(spelling.name)")
            }
            // By the flag, in its three ways.
            for command in ["chattr -d", "setfattr -x system.aclfs.flags", "\(MountTesting.program("aclfs")) chflags dump"] {
                #expect(try set(path, spelling, as: .alice).status == 0)
                #expect(try TestUser.alice.shell("\(command) \(path)").status == 0)
                #expect(try !isExcluded(path), "\(command) after \(spelling.name)")
            }
            #expect(try TestUser.alice.shell("chattr +d \(path)").status == 0)
            #expect(try isExcluded(path))
            try alice.must("removexattr", path, spelling.name)
            #expect(try !isExcluded(path))
        }
        // Who removes all that was listed has removed all with the first.
        #expect(try alice.call("removexattr", path, "com.apple.MobileBackup").isOK)
        #expect(try bob.call("removexattr", path, "com.apple.MobileBackup").word == "EACCES")
        #expect(try root.must("listxattr", path).isEmpty)
    }

    @Test func otherFlagsStay() throws {
        let path = try make("f")
        try alice.must("setxattr", path, "system.aclfs.flags", "hidden")
        #expect(try set(path, Self.spellings[4], as: .alice).status == 0)
        #expect(try unescaped(alice.must("getxattr", path, "system.aclfs.flags")) == Array("nodump,hidden".utf8))
        try alice.must("setxattr", path, "system.aclfs.flags", "nodump,opaque")
        #expect(try isExcluded(path))
        try alice.must("setxattr", path, "system.aclfs.flags", "hidden")
        #expect(try !isExcluded(path))
        #expect(try alice.must("getxattr", path, "system.aclfs.flags") == "hidden")
    }

    @Test func eachByAUserWithTheRight() throws {
        // bob may write attributes, and is not the owner.
        let path = try make("f", acl: "user:#502 allow writeextattr,readextattr,readattr")
        #expect(try set(path, Self.spellings[0], as: .bob).status == 0)
        #expect(try isExcluded(path))
        #expect(try TestUser.bob.shell("chattr -d \(path)").status != 0)
        // Writing the stored flags back, which lack the derived one, is a change and not bob's to make.
        #expect(try bob.call("setxattr", path, "system.aclfs.flags", "-").word == "EACCES")
        #expect(try isExcluded(path))
        #expect(try bob.call("removexattr", path, "user.xdg.robots.backup").isOK)
        #expect(try !isExcluded(path))
        #expect(try bob.call("setxattr", path, "system.aclfs.flags", "nodump").word == "EACCES")
        // alice, denied to write attributes, has the flag; the command finds the way.
        try alice.must("setxattr", path, "system.aclfs.acl", "user:#501 deny writeextattr")
        for spelling in Self.spellings { #expect(try set(path, spelling, as: .alice).status != 0) }
        #expect(try alice.call("removexattr", path, "com.apple.MobileBackup").word == "EACCES")
        #expect(try TestUser.alice.shell("\(MountTesting.program("aclfs")) backup exclude \(path)").status == 0)
        #expect(try isExcluded(path))
        #expect(try alice.call("removexattr", path, "com.apple.MobileBackup").word == "EACCES")
        #expect(try TestUser.alice.shell("\(MountTesting.program("aclfs")) backup include \(path)").status == 0)
        #expect(try !isExcluded(path))
        // bob has neither now.
        let refused = try TestUser.bob.shell("\(MountTesting.program("aclfs")) backup exclude \(path)")
        #expect(refused.status == 1 && refused.output.hasPrefix("aclfs: \(path): Permission denied: writeextattr is denied"))
        // An immutable object keeps its attributes; its owner may still change the flag.
        try alice.must("setxattr", path, "system.aclfs.acl", "")
        try alice.must("setxattr", path, "system.aclfs.flags", "uchg")
        #expect(try alice.call("setxattr", path, "user.xdg.robots.backup", "false").word == "EPERM")
        try alice.must("setxattr", path, "system.aclfs.flags", "-")
        // Reading asks readextattr.
        try alice.must("setxattr", path, "system.aclfs.acl", "user:#502 deny readextattr")
        #expect(try set(path, Self.spellings[0], as: .alice).status == 0)
        #expect(try bob.call("getxattr", path, "com.apple.MobileBackup").word == "EACCES")
    }

    @Test func wrongValuesAreRefused() throws {
        let path = try make("f")
        for (name, value) in [
            ("com.apple.MobileBackup", "1"),
            ("com.apple.MobileBackup", ""), ("user.xdg.robots.backup", "True"), ("user.xdg.robots.backup", "False"),
            ("com.apple.MobileBackup", "true"), ("user.xdg.robots.backup", "false\n"), ("user.xdg.robots.backup", "true\n"),
            ("user.com.apple.MobileBackup", "\u{1}\u{1}"),
        ] {
            #expect(try alice.call("setxattr", path, name, value).word == "EINVAL", "\(name) \(value)")
        }
        #expect(try !isExcluded(path))
        // Create and replace mean the state, whichever user made it.
        let robots = "user.xdg.robots.backup"
        #expect(try alice.call("setxattr", path, robots, "false", "2").word == "ENODATA")
        try alice.must("setxattr", path, "com.apple.MobileBackup", "\u{1}", "1")
        #expect(try alice.call("setxattr", path, robots, "false", "1").word == "EEXIST")
        #expect(try alice.call("setxattr", path, robots, "false", "2").isOK)
        // Names differ by case, and the namespace may be left out.
        try alice.must("setxattr", path, "user.xdg.robots.Backup", "true")
        #expect(try unescaped(alice.must("getxattr", path, "xdg.robots.backup")) == Array("false".utf8))
    }

    /// As `xattr -w` and many programs write it: programs that read the key look only whether it is there. It comes back as it was set.
    @Test(arguments: ["com.apple.backupd", "com.apple.MobileBackup", "1", ""])
    func anyValueOfMacOSKeyExcludes(_ value: String) throws {
        let key = "user.com.apple.metadata:com_apple_backup_excludeItem"
        let directory = fixture.path("d")
        try alice.must("mkdir", directory, "0755")
        for path in [try make("f"), directory] {
            try alice.must("setxattr", path, key, value)
            #expect(try unescaped(alice.must("getxattr", path, key)) == Array(value.utf8))
            #expect(try unescaped(alice.must("getxattr", path, "user.xdg.robots.backup")) == Array("false".utf8))
            try alice.must("removexattr", path, key)
            #expect(try !isExcluded(path))
        }
    }

    /// The proposal's default: set, it clears, whichever mark there was, and is not kept.
    @Test func trueMeansIncluded() throws {
        let path = try make("f", acl: "user:#502 allow writeextattr,readextattr,readattr")
        let robots = "user.xdg.robots.backup"
        for spelling in Self.spellings {
            #expect(try set(path, spelling, as: .alice).status == 0)
            try alice.must("setxattr", path, robots, "true")
            #expect(try !isExcluded(path), "\(spelling.name)")
            // Nothing but its list.
            #expect(try root.must("listxattr", path) == "user.com.apple.acl.text\\x00")
        }
        try alice.must("setxattr", path, "system.aclfs.flags", "nodump,hidden")
        // By a user who may write attributes; the other flag stays.
        try bob.must("setxattr", path, "xdg.robots.backup", "true")
        #expect(try !isExcluded(path))
        #expect(try alice.must("getxattr", path, "system.aclfs.flags") == "hidden")
        // Where nothing is excluded it says what is so already.
        try alice.must("setxattr", path, robots, "true")
        #expect(try alice.call("setxattr", path, robots, "true", "2").word == "ENODATA")
        try alice.must("setxattr", path, robots, "false")
        #expect(try alice.call("setxattr", path, robots, "true", "1").word == "EEXIST")
        #expect(try isExcluded(path))
        try alice.must("setxattr", path, "system.aclfs.acl", "user:#502 deny writeextattr")
        #expect(try bob.call("setxattr", path, robots, "true").word == "EACCES")
        #expect(try isExcluded(path))
    }

    /// What was written to the backing directory by others counts, whatever they knew of.
    @Test func nativeKeysCount() throws {
        let path = try make("f")
        let stored = fixture.backing + "/f"
        for (name, value, counts) in [
            ("user.com.apple.metadata:com_apple_backup_excludeItem", "anything", true),
            ("user.com.apple.MobileBackup", "\u{1}", true), ("user.com.apple.MobileBackup", "0", false),
            ("user.xdg.robots.backup", "false", true), ("user.xdg.robots.backup", "true", false),
        ] {
            try root.must("setxattr", stored, name, value)
            #expect(try root.must("getxattr", path, "system.aclfs.flags").contains("nodump") == counts)
            // Kept as it is, so that copies are equal.
            #expect(try root.must("getxattr", path, name) == value.replacingUnprintable)
            #expect(try root.must("listxattr", path) == name + "\\x00")
            try alice.must("removexattr", path, name)
            #expect(try !isExcluded(path))
            #expect(try root.must("listxattr", stored).contains(name) == false)
        }
        // "true" does not stand against exclusion, and comes to light again after it.
        try root.must("setxattr", stored, "user.xdg.robots.backup", "true")
        try alice.must("setxattr", path, "system.aclfs.flags", "nodump")
        #expect(try isExcluded(path))
        try alice.must("removexattr", path, "com.apple.MobileBackup")
        #expect(try alice.must("getxattr", path, "user.xdg.robots.backup") == "true")
    }

    /// Between the system calls of one change the object is excluded, never half.
    @Test func everyHalfDoneChangeReadsAsExcluded() throws {
        let path = try make("f")
        let stored = fixture.backing + "/f"
        let keys = Self.spellings.filter { $0.name.hasPrefix("user.") }
        for gone in 0..<8 {
            try alice.must("setxattr", path, "system.aclfs.flags", gone & 1 == 0 ? "nodump" : "-")
            for (index, key) in keys.enumerated() where index > 0 && gone & (1 << index) == 0 {
                _ = try root.call("setxattr", stored, key.name, String(decoding: key.value, as: UTF8.self))
            }
            #expect(try isExcluded(path) == (gone != 7))
            if gone != 7 { try alice.must("removexattr", path, keys[0].name) }
            #expect(try !isExcluded(path))
        }
    }

    @Test func symlinksHaveTheState() throws {
        let path = fixture.path("l")
        try alice.must("symlink", "nowhere", path)
        #expect(try run("backup", "exclude", path).status == 0)
        #expect(try run("backup", "status", path).output.hasPrefix("[Excluded]    \(path)\n"))
        #expect(try root.call("getxattr", path, "com.apple.MobileBackup").isOK)
        // What no copy could set on a link is not listed.
        #expect(try root.must("listxattr", path).isEmpty)
        #expect(try run("backup", "include", path).status == 0)
        #expect(try root.call("getxattr", path, "com.apple.MobileBackup").word == "ENODATA")
    }

    @Test func theStateFollowsTheObject() throws {
        try alice.must("mkdir", fixture.path("d"), "0755")
        for (number, spelling) in Self.spellings.enumerated() {
            let path = try make("f\(number)")
            #expect(try set(path, spelling, as: .alice).status == 0)
            try alice.must("rename", path, fixture.path("d/g\(number)"))
            #expect(try isExcluded(fixture.path("d/g\(number)")))
        }
        try fixture.unmount()
        try fixture.mount()
        #expect(try isExcluded(fixture.path("d/g0")))
    }
}

extension String {
    /// As `aclfs-act` prints it.
    fileprivate var replacingUnprintable: String { self == "\u{1}" ? "\\x01" : self }
}
