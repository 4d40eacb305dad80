import Authorization
import MountOptions
import Testing

/// The words of `-o` and what is in force afterwards (docs/reference/mounting.md "Options").
struct MountOptionsTests {
    @Test func theBudgetIsASizeOrOff() throws {
        var options = MountOptions()
        #expect(options.zeroFillBudget == 1 << 30)
        try options.apply("zerofill_budget=64M")
        #expect(options.zeroFillBudget == 64 << 20 && options.fixedWords.contains("zerofill_budget=64M"))
        try options.apply("zerofill_budget=off")
        #expect(options.zeroFillBudget == nil && options.fixedWords.contains("zerofill_budget=off"))
        #expect(throws: MountOptionError.self) { try options.apply("zerofill_budget=many") }
    }

    /// `aclfs status` lists them so.
    @Test func theWordsInForceStandInTheirOrder() throws {
        let defaults = [
            "rw", "securelevel=0", "owners", "acl", "grpid", "suiddir", "groups=process", "groups_cache=100", "metadata=auto",
            "list_room=32", "cache=auto",
            "crossmounts", "xattr_names=linux", "posixacl=translate", "portable_acl=on", "special=gate", "passthrough=auto",
            "transport=auto", "zerofill=write", "zerofill_max=1G",
            "zerofill_budget=1G",
        ]
        #expect(MountOptions().words(volume: VolumeState()) == defaults)
        var options = MountOptions()
        try options.apply(
            "kernel_features=-uring,-epoch,audit_user_limit=3,audit_log=/l,audit=all,layout=ios,home=/h,bundle=a.b,sandbox=strict,fsname=a\\,b,"
                + "source_mode=require-private,allow_other,unknown99,zerofill_budget=off,zerofill_max=1536,zerofill=off,transport=dev,"
                + "passthrough=off,special=open,portable_acl=off,posixacl=off,xattr_names=both,nocrossmounts,cache=5,list_room=0,metadata=user,groups_cache=0,"
                + "groups=directory,suiddir=all,sysvgroups,noacl,noowners,securelevel=2,noexec,ro,dirsync,context=u:object")
        let all = [
            "ro", "securelevel=2", "noowners", "noacl", "nogrpid", "suiddir=all", "groups=directory", "groups_cache=0", "metadata=user",
            "list_room=0",
            "cache=5", "nocrossmounts", "xattr_names=both", "posixacl=off", "portable_acl=off", "special=open", "passthrough=off",
            "transport=dev",
            "zerofill=off",
            "zerofill_max=1536", "zerofill_budget=off", "unknown99", "allow_other", "source_mode=require-private", "fsname=a,b",
            "sandbox=strict", "bundle=a.b", "home=/h", "layout=ios", "audit=all", "audit_log=/l", "audit_limit=1000", "audit_user_limit=3",
            "kernel_features=-epoch:-uring", "noexec",
        ]
        #expect(options.words(volume: options.volume) == all)
        // What changes while mounted is not that of the mount's beginning.
        #expect(options.words(volume: VolumeState()).prefix(2) == ["rw", "securelevel=0"])
        // A remount compares what status does not show, too.
        let fixed = Set(options.fixedWords)
        #expect(fixed.isSuperset(of: ["dirsync", "context=u:object", "fsname=a,b", "suiddir=all", "layout=ios"]))
        #expect(fixed.isDisjoint(with: ["ro", "securelevel=2", "noexec", "nosuid", "nodev"]))
    }

    @Test func whatIsSaidIsKeptLessWhatIsIgnored() throws {
        var options = MountOptions()
        try options.apply("nofail,user=zed,x-a=b,X-c,comment=x,ro,,posixacl=off,kernel_features=-epoch,-statx,remount,context=a=b")
        #expect(options.given == ["ro", "posixacl=off", "kernel_features=-epoch", "-statx", "remount", "context=a=b"])
        #expect(options.toleratesMissingSource && options.isRemount && options.volume.isReadOnly)
        #expect(options.maskedKernelFeatures == ["epoch", "statx"] && options.contexts == ["context=a=b"])
        try options.apply("rw,grpid,nogrpid,bsdgroups,relatime,norelatime,nodiratime,suid,sync,async,nosymfollow,symfollow,dev")
        #expect(!options.volume.isReadOnly && options.volume.groupFromDirectory && !options.noSuid)
        #expect(!options.noDev && !options.noSymFollow)
        #expect(options.accessTimes.files == .asBelow && options.accessTimes.leavesDirectories && !options.synchronous)
    }

    @Test(arguments: Self.answers)
    func aWrongWordIsAnsweredWithTheRightOne(_ text: String, _ message: String) {
        #expect(message == refusal(of: text))
    }

    @Test(arguments: ["export"])
    func anEmptyValueMakesNothingAvailable(_ name: String) {
        #expect(refusal(of: "\(name)=") == "option '\(name)=' is not available yet; leave it out")
    }

    private static let answers: [(String, String)] = [
        ("noowner", "unknown option 'noowner'; did you mean 'noowners'?"),
        ("osuid", "unknown option 'osuid'; did you mean 'suid'?"),
        ("row", "unknown option 'row'; did you mean 'ro'?"),
        ("noec", "unknown option 'noec'; did you mean 'noexec'?"),
        ("zerofil=write", "unknown option 'zerofil'; did you mean 'zerofill'?"),
        ("nofial", "unknown option 'nofial'; did you mean 'nofail'?"),
        ("a\u{1B}b", #"unknown option 'a\x1bb'"#),
        ("-epoch", "unknown option '-epoch'"),
        ("x=y", "unknown option 'x'"),
        ("zerofill", "option 'zerofill' needs a value: zerofill=…"),
        ("context", "option 'context' needs a value: context=…"),
        ("noacl=yes", "option 'noacl' takes no value, but 'yes' was given"),
        ("ro=", "option 'ro' takes no value, but '' was given"),
        ("default_permissions=1", "option 'default_permissions' takes no value, but '1' was given"),
        (
            "default_permissions",
            """
            default_permissions is refused: the kernel would AND the mode bits into every decision, so that no entry could grant \
            anything; leave it out
            """
        ),
        ("suiddir=root", "option 'suiddir=root': expected all"),
        ("source_mode=private", "option 'source_mode=private': expected require-private"),
        ("zerofill=yes", "option 'zerofill=yes': expected write, allocate, off"),
        ("cache=3601", "option 'cache=3601': expected auto, strict, exclusive, a number of seconds up to 3600"),
        ("securelevel=3", "option 'securelevel=3': expected a number from 0 to 2"),
        ("groups_cache=60001", "option 'groups_cache=60001': expected a number from 0 to 60000"),
        ("zerofill_max=1X", "option 'zerofill_max=1X': expected a size such as 1048576, 64M or 1G"),
        ("list_room=129", "option 'list_room=129': expected a number from 0 to 128"),
        ("zerofill_budget=none", "option 'zerofill_budget=none': expected off, a size such as 1048576, 64M or 1G"),
        ("fsname=", "option 'fsname=': expected a name"),
        ("sandbox=", "option 'sandbox=': expected an installed profile's name (aclfs sandbox list), or a path with a slash"),
        ("bundle=a..b", "option 'bundle=a..b': expected a bundle identifier such as org.example.App"),
        ("home=a/../b", "option 'home=a/../b': expected a directory's path from the mount's top, without . and .."),
        ("layout=linux", "option 'layout=linux': expected macos, ios"),
        ("audit_log=file", "option 'audit_log=file': expected a file's absolute path"),
        ("audit_limit=0", "option 'audit_limit=0': expected a number of lines in a second from 1 to 1000000"),
        (
            "kernel_features=-epoch,-uuring",
            "option 'kernel_features=-uuring': expected -epoch, -passthrough, -uring, -statx, -killpriv2, -expire, -beneath, -fanotify, -resend"
        ),
        ("export", "option 'export' is not available yet; leave it out"),
        ("identities", "option 'identities' needs a value: identities=…"),
        ("identities=ids", "option 'identities=ids': expected a file's absolute path"),
        ("rootsquash=", "option 'rootsquash=': expected a uid from 1 to 4294967294"),
        ("rootsquash=0", "option 'rootsquash=0': expected a uid from 1 to 4294967294"),
        ("rootsquash=nobody", "option 'rootsquash=nobody': expected a uid from 1 to 4294967294"),
        ("rootsquash=4294967295", "option 'rootsquash=4294967295': expected a uid from 1 to 4294967294"),
        ("posixacl", "option 'posixacl' needs a value: posixacl=…"),
        ("posixacl=on", "option 'posixacl=on': expected translate, off"),
        ("fsname=\"a", "unbalanced quote in options 'fsname=\"a'"),
        ("fsname=a\\", "options 'fsname=a\\' end in a lone backslash"),
    ]

    @Test(arguments: ["uid=1000", "gid=20", "uid"])
    func anOwnerForAllIsAnsweredWithWhatThereIs(_ text: String) throws {
        let refusal = try #require(self.refusal(of: text))
        #expect(refusal.hasPrefix("option '\(text.prefix(3))=' is refused: objects keep the owners and groups that SOURCE has; noowners "))
        #expect(refusal.contains("aclfs chmod -R +a 'user:NAME allow full_control,file_inherit,directory_inherit'"))
    }

    @Test(arguments: ["umask=022", "fmask=133", "dmask=022", "mode=755", "file_mode=0644", "dir_mode=0755"])
    func aModeForAllIsAnsweredWithWhatThereIs(_ text: String) throws {
        let name = text.prefix { $0 != "=" }
        let refusal = try #require(self.refusal(of: text))
        #expect(refusal.hasPrefix("option '\(name)=' is refused: objects keep the modes that SOURCE has"))
        #expect(refusal.contains("file_inherit and directory_inherit"))
    }

    private func refusal(of text: String) -> String? {
        var options = MountOptions()
        do { try options.apply(text) } catch { return error.description }
        return nil
    }
}
