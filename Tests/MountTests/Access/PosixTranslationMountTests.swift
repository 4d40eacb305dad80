import Foundation
import Glibc
import TestSupport
import Testing

/// POSIX ACLs that programs set on a mount: libacl's own programs, and the same calls on the mount and on the backing file system itself
/// (docs/reference/posix-acl.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PosixTranslationMountTests {
    private let fixture: MountFixture
    /// A directory that the file system alone judges.
    private let native: String

    init() throws {
        fixture = try MountFixture(options: nil)
        native = fixture.top + "/native"
        mkdir(native, 0o755)
    }

    /// A directory of alice's in the mount and in the native one.
    private func makeHome() throws {
        for top in [fixture.mountpoint, native] {
            mkdir(top + "/home", 0o755)
            chmod(top + "/home", 0o755)
            chown(top + "/home", 501, 20)
        }
    }

    /// What a script says in alice's directory.
    private func shell(_ script: String, _ user: TestUser = .alice, on top: String) throws -> String {
        let result = try user.shell("cd '\(top)/home' && umask 022 && export LC_ALL=C TZ=UTC && exec 2>&1\n" + script)
        return "\(result.output)\nstatus \(result.status)"
    }

    /// A script says the same on the mount and on the file system itself.
    private func expectSame(_ script: String, _ user: TestUser = .alice, _ location: SourceLocation = #_sourceLocation) throws {
        let expected = try shell(script, user, on: native)
        let found = try shell(script, user, on: fixture.mountpoint)
        #expect(found == expected, "\(script)", sourceLocation: location)
    }

    // MARK: setfacl and getfacl

    @Test func setfaclDoesAllThatItCan() throws {
        try fixture.mount()
        try makeHome()
        try expectSame("touch f; mkdir d; getfacl -n f d; ls -ld f d | cut -c1-11")
        for arguments in [
            "-m u:502:rw f", "-m u:503:---,g:600:r f", "-x u:503 f", "-m m::r f", "-m g::rwx f", "-n -m u:503:rwx f", "-m o::rx f", "-b f",
            "-m m::rwx f", "--set u::rw,g::r,o::-,u:502:rwx,m::rx f", "-m g:600:rwx,g:601:r d", "-d -m u:502:rwx d",
            "-m d:g:600:rx,d:o::- d",
            "-k d", "-d --set u::rwx,g::rx,o::- d", "-x d:g:600 d", "-d -m g:601:- d", "-b d", "-R -m u:502:rX .", "-R -b -k .",
        ] {
            try expectSame("setfacl \(arguments); getfacl -n f d; ls -ld f d | cut -c1-11")
        }
        // Numbers and names of the bits, an unknown user, a default ACL of a file.
        try expectSame(
            "setfacl -m u:502:8 f; setfacl -m u:nobody-has-this-name:r f; setfacl -d -m u:502:r f; setfacl -m u:502 f; getfacl -n f")
        try expectSame(
            """
            mkdir -p t/u t/v; touch t/f t/u/g; setfacl -R -m u:502:rwX,g:600:rX t; setfacl -d -m g:601:rx t/v; setfacl -m m::r t/f
            getfacl -nR t >was; setfacl -R -b -k t; getfacl -nR t; setfacl --restore=was; getfacl -nR t | diff was - && echo restored; rm was
            """)
        // A copy of one list by getfacl | setfacl.
        try expectSame("touch g; getfacl -n t/f | setfacl --set-file=- g; getfacl -n g; chmod 4751 g; getfacl -n g; ls -l g | cut -c1-11")
        // Another user may not.
        try expectSame("setfacl -m u:503:rwx f; setfacl -b t; setfacl -k t/v; getfacl -n f", .carol)
    }

    /// chmod(2) sets owner, mask and others.
    @Test func chmodSetsTheMask() throws {
        try fixture.mount()
        try makeHome()
        try expectSame("touch f; mkdir d; setfacl -m u:502:rw,g:600:rwx f; setfacl -m u:502:rwx,g:600:rx d; setfacl -d -m u:503:rx d")
        for mode in ["600", "640", "664", "777", "000", "070", "707", "g-w", "g+x", "u=rx,go=", "770", "2775"] {
            try expectSame("chmod \(mode) f d; getfacl -n f d; stat -c %a f d")
            for user in [TestUser.bob, .carol] {
                try expectSame(
                    "cat f >/dev/null && echo read; : >>f && echo write; ls d >/dev/null && echo list; touch d/n && echo create; rm -f d/n",
                    user)
            }
        }
        // Without the option a list stays as it is.
        let program = MountTesting.program("aclfs")
        _ = try TestUser.alice.run(program, "chmod", "+a#", "0", "user:502 allow read", fixture.path("home/f"))
        #expect(try shell("getfacl -cn f; chmod 640 f; getfacl -cn f", on: fixture.mountpoint).contains("group::r--\nother::---"))
        #expect(try TestUser.bob.shell("cat '\(fixture.path("home/f"))'").status == 0)
    }

    // MARK: Decisions

    /// All sets of the named entries with random permissions; more of them in a long run.
    @Test func decidesAsTheFileSystemItselfDoes() throws {
        try fixture.mount()
        try makeHome()
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for top in [fixture.mountpoint, native] {
            close(open(top + "/home/f", O_CREAT | O_WRONLY, 0o600))
            mkdir(top + "/home/d", 0o700)
            for name in ["f", "d"] { chown("\(top)/home/\(name)", 501, 20) }
        }
        let users = [501, 502, 503, 504].flatMap { uid in
            (0..<8).map { set in
                let groups = [20, 600, 601].enumerated().filter { set & 1 << $0.offset != 0 }.map { UInt32($0.element) }
                return TestUser(uid: UInt32(uid), gid: 1000 + UInt32(uid), groups: groups)
            }
        }
        let processes = try users.map { try ActingProcess($0) }
        let names = ["u:502", "u:503", "g:600", "g:601"]
        var (compared, refused) = (0, 0)
        for round in 0..<(MountTesting.isLong ? 1500 : 24) {
            let isDirectory = round % 2 == 1
            let named = names.indices.filter { (round / 2) & 1 << $0 != 0 }
            // A mask without bits is the exception of docs/reference/posix-acl.md.
            let list = (["u:", "g:", "o:"] + named.map { names[$0] }).map { "\($0):\(random.below(8))" } + ["m::\(1 + random.below(7))"]
            let text = list.joined(separator: ",")
            let name = isDirectory ? "home/d" : "home/f"
            let set = try Spawn.run(["setfacl", "--set", text, "\(fixture.mountpoint)/\(name)"])
            if set.status != 0 {
                #expect(set.output.contains("Operation not supported"), "\(text): \(set)")
                refused += 1
                continue
            }
            #expect(try Spawn.run(["setfacl", "--set", text, "\(native)/\(name)"]).status == 0)
            for index in random.some(of: Array(users.indices), percent: 40) {
                for request in 1...7 {
                    let expected = try processes[index].call("access", "\(native)/\(name)", String(request), "512").word
                    let found = try processes[index].call("access", "\(fixture.mountpoint)/\(name)", String(request), "512").word
                    #expect(found == expected, "seed \(seed): \(name) \(text): \(users[index]) asks for \(request)")
                    compared += 1
                }
                for call in isDirectory
                    ? [["create", "/n", "0600", "0"], ["unlink", "/n"], ["mkdir", "/e", "0700", "0"], ["rmdir", "/e"], ["list", ""]]
                    : [["open", "", String(O_RDWR)], ["open", "", String(O_WRONLY | O_APPEND)], ["utimes", "", "now"]]
                {
                    let rest = Array(call.dropFirst(2))
                    func word(_ top: String) throws -> String {
                        try processes[index].call([call[0], "\(top)/\(name)\(call[1])"] + rest).word
                    }
                    let expected = try word(native)
                    #expect(try word(fixture.mountpoint) == expected, "seed \(seed): \(name) \(text): \(users[index]) calls \(call)")
                }
            }
        }
        print("PosixTranslationMountTests: \(compared) decisions, \(refused) lists without entries that mean the same")
        #expect(compared > 1000 && refused < 12 || MountTesting.isLong)
    }

    /// With a mask of `---` named users have nothing, where Linux would use the bits of others (docs/reference/authorization.md Q22).
    @Test func anEmptyMaskLeavesNothing() throws {
        try fixture.mount()
        try makeHome()
        _ = try shell("echo text >f; setfacl -m u:502:rw,m::-,o::r f", on: fixture.mountpoint)
        #expect(try shell("cat f", .bob, on: fixture.mountpoint).contains("Permission denied"))
        #expect(try shell("cat f", TestUser(uid: 504, gid: 504, groups: []), on: fixture.mountpoint).contains("text"))
    }

    /// A caller outside the owning group takes the set-gid bit, also where the mode stays.
    @Test func theSetGroupBitGoes() throws {
        try fixture.mount()
        try makeHome()
        for top in [fixture.mountpoint, native] {
            close(open(top + "/home/p", O_CREAT | O_WRONLY, 0o750))
            chown(top + "/home/p", 501, 700)
            chmod(top + "/home/p", 0o2750)
        }
        try expectSame("setfacl -m u:502:rx p; stat -c %a p; getfacl -cn p")
    }

    /// The sticky bit binds who may write by an entry of a POSIX ACL.
    @Test func theStickyBitStays() throws {
        try fixture.mount()
        try makeHome()
        try expectSame("mkdir s; chmod 1777 s; setfacl -m u:503:rx,g:600:rwx s; getfacl -n s; touch s/a")
        // A refusal is EACCES, which Linux would call EPERM (docs/reference/authorization.md Q8).
        try expectSame("rm -f s/a 2>&1 | sed 's,Permission denied,Operation not permitted,'; touch s/b; rm s/b && echo removed", .bob)
        try expectSame("rm -f s/a; touch s/c; ls s", .carol)
        // Where only an entry could give w, it would be stronger than the bit: refused, and nothing is changed.
        _ = try shell("mkdir p; chmod 1770 p", on: fixture.mountpoint)
        let refused = try shell("setfacl -m g:601:rwx p; getfacl -cn p; ls -ld p", on: fixture.mountpoint)
        #expect(refused.contains("Operation not supported") && refused.contains("drwxrwx--T"), "\(refused)")
        let chmod = try shell("mkdir q; chmod 770 q; setfacl -m g:601:rwx q; chmod +t q; getfacl -cn q; ls -ld q", on: fixture.mountpoint)
        #expect(chmod.contains("group:601:rwx") && chmod.contains("drwxrwx---"), "\(chmod)")
    }

    /// Another user sees a revocation with the next call, whatever the kernel has in its caches.
    @Test(arguments: ["", "cache=strict", "passthrough=off,transport=dev"])
    func aRevocationCountsAtOnce(_ options: String) throws {
        try fixture.mount(options)
        try makeHome()
        _ = try shell("mkdir d; echo text >d/f; chmod 700 d; setfacl -m u:502:rx d; setfacl -m u:502:r d/f", on: fixture.mountpoint)
        let (alice, bob) = (try ActingProcess(.alice), try ActingProcess(.bob))
        let (directory, file) = (fixture.path("home/d"), fixture.path("home/d/f"))
        for _ in 0..<5 { #expect(try bob.call("open", file, String(O_RDONLY)).isOK && bob.call("stat", file).isOK) }
        try alice.must("chmod", directory, "0700")
        #expect(try bob.call("stat", file).word == "EACCES")
        try alice.must("chmod", directory, "0750")
        #expect(try bob.call("stat", file).isOK)
        #expect(try Spawn.run(["setfacl", "-x", "u:502", file]).status == 0)
        #expect(try bob.call("open", file, String(O_WRONLY)).word == "EACCES")
        #expect(try Spawn.run(["setfacl", "-b", directory]).status == 0)
        #expect(try bob.call("stat", file).word == "EACCES" && bob.call("list", directory).word == "EACCES")
    }

    // MARK: New objects

    @Test func newObjectsGetTheDefaultList() throws {
        try fixture.mount()
        try makeHome()
        for (index, list) in [
            "u:502:rwx", "u::rwx,g::-,o::-", "u:502:rw,g:600:rx,o::-", "u:502:rwx,m::rx", "g::rwx,g:600:-,o::rx", "u:501:r,u:502:-",
            "u::r,g::rwx,o::rw",
        ].enumerated() {
            try expectSame("mkdir d\(index); setfacl -d -m \(list) d\(index); getfacl -n d\(index)")
            for mask in ["022", "077", "000"] {
                try expectSame(
                    """
                    umask \(mask); cd d\(index); touch f\(mask); mkdir e\(mask); mkdir -m 751 g\(mask); mkfifo p\(mask); ln -s f\(mask) l\(mask)
                    install -m 640 /dev/null i\(mask); cp /bin/true x\(mask); mkdir e\(mask)/h; echo text >e\(mask)/t
                    getfacl -nR . | grep -v '^# flags'; stat -c '%n %a' *
                    """)
                try expectSame(
                    "cd d\(index) && cat f\(mask) e\(mask)/t; ls e\(mask); : >>f\(mask) && echo write; ./x\(mask) && echo ran", .bob)
            }
        }
        // What a child has is its own.
        try expectSame("setfacl -k d0; getfacl -n d0 d0/e022; setfacl -b d0/e022; getfacl -n d0/e022")
    }

    // MARK: Programs that copy

    @Test func copiesKeepTheLists() throws {
        try fixture.mount()
        try makeHome()
        let make = """
            mkdir -p t/d/e; echo 1 >t/f; echo 2 >t/d/g; chmod 640 t/f; setfacl -m u:502:rw,g:600:r t/f; setfacl -m u:502:rwx,m::rx t/d
            setfacl -d -m g:601:rwx t/d; mkdir t/d/n; touch t/d/n/f; chmod 600 t/d/n/f; setfacl -m u:503:- t/d/g
            getfacl -nR t >list; cat list
            """
        try expectSame(make)
        let other = native + "/home"
        for script in [
            "cp -a t a && cd a/.. && getfacl -nR a | sed 's,: a,: t,' >now", "mkdir a && cp -a t a/ && cd a && getfacl -nR t >../now",
            "tar --acls -cf x.tar t && mkdir a && tar --acls -C a -xf x.tar && cd a && getfacl -nR t >../now",
            "bsdtar --acls --no-xattrs -cf x.tar t && mkdir a && bsdtar --acls -C a -xpf x.tar && cd a && getfacl -nR t >../now",
            "mkdir a && rsync -aA t a/ && rsync -aAi t a/ && cd a && getfacl -nR t >../now",
            "cp -a t '\(other)/a' && (cd '\(other)' && getfacl -nR a | sed 's,: a,: t,') >now; cp -a '\(other)/a' a && getfacl -nR a | sed 's,: a,: t,' | cmp - now; rm -r '\(other)/a'",
            "rsync -aA t/ '\(other)/a/' && rsync -aAi t/ '\(other)/a/'; rsync -aA '\(other)/a/' a/ && rsync -aAi '\(other)/a/' a/; getfacl -nR a | sed 's,: a,: t,' >now; rm -r '\(other)/a'",
            "mv t/d a && getfacl -nR a | sed 's,: a,: t/d,' >now; getfacl -n t t/f >/dev/null; mv a t/d; getfacl -nR t >now; mkdir a",
        ] {
            let said = try shell(
                "\(script); cd ..; cd '\(fixture.path("home"))'; diff list now && echo same; rm -rf a now x.tar",
                on: fixture.mountpoint)
            #expect(said == "same\nstatus 0", "\(script): \(said)")
        }
    }

    // MARK: Lists of entries

    /// Entries that nobody set as a POSIX ACL have no mask. chmod leaves them, stat shows the mode as it is, and they are inherited as all
    /// entries are, also where they have an exact form.
    @Test func onlyAPosixACLFollowsTheMode() throws {
        try fixture.mount()
        try makeHome()
        let aclfs = MountTesting.program("aclfs")
        func list(_ name: String) throws -> String {
            try shell("getfattr --only-values -n system.aclfs.acl \(name)", on: fixture.mountpoint)
        }
        _ = try shell("touch f; chmod 640 f; \(aclfs) chmod +a 'user:502 allow read,readextattr' f", on: fixture.mountpoint)
        let entries = try list("f")
        #expect(entries.hasSuffix("AAAA000001F6 allow read,readextattr\nstatus 0"), "\(entries)")
        #expect(try shell("getfacl -cn f", on: fixture.mountpoint).contains("user:502:r--"))
        for mode in ["600", "640", "604", "777", "000", "4700"] {
            let shown = try shell("chmod \(mode) f; stat -c %a f", on: fixture.mountpoint)
            #expect(try shown == "\(mode == "000" ? "0" : mode)\nstatus 0" && list("f") == entries, "\(mode): \(shown)")
        }
        // setfacl sets nothing that getfacl shows already. A list that it sets follows the mode, with an empty mask too.
        let set = try shell(
            "chmod 600 f; setfacl -m u:502:rw f; stat -c %a f; chmod 600 f; stat -c %a f; getfacl -cn f", on: fixture.mountpoint)
        #expect(set.hasPrefix("660\n600\n") && set.contains("mask::---"), "\(set)")
        #expect(try shell("chmod 660 f; getfacl -cn f", on: fixture.mountpoint).contains("mask::rw-"))

        // Entries that new objects inherit.
        let text = """
            ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A allow list,readextattr,file_inherit,directory_inherit,only_inherit
            user:502 allow list,readextattr,file_inherit,directory_inherit,only_inherit
            ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000010 allow list,readextattr,file_inherit,directory_inherit,only_inherit
            group:everyone allow file_inherit,directory_inherit,only_inherit
            """
        let directory = try shell("mkdir d; \(aclfs) chmod -E d <<'END'\n\(text)\nEND\ngetfacl -cn d", on: fixture.mountpoint)
        #expect(directory.contains("default:user:502:r--") && directory.contains("default:mask::r--"), "\(directory)")
        _ = try shell("umask 077; touch d/f; mkdir -m 751 d/d; umask 0; (umask 0; : >d/g)", on: fixture.mountpoint)
        #expect(try shell("cd d; stat -c %a f d g", on: fixture.mountpoint).hasPrefix("600\n751\n666\n"))
        for name in ["d/f", "d/g"] {
            let inherited = try list(name)
            #expect(inherited.components(separatedBy: "inherited allow").count == 5, "\(inherited)")
            #expect(inherited.contains("AAAA000001F6 inherited allow read,readextattr\n"), "\(inherited)")
        }
        // What programs mean as a chmod, or as no default ACL, leaves them.
        #expect(try shell("setfacl -k d; getfacl -cn d", on: fixture.mountpoint).contains("default:user:502:r--"))
        _ = try shell(
            "mkdir x s; \(aclfs) chmod +a 'user:502 allow list,readextattr,file_inherit' x; cp -p /etc/passwd x/f; cp -a s/. d; cp -a d/f x/g",
            on: fixture.mountpoint)
        #expect(try shell("getfacl -cn x/f; setfacl -b x/f", on: fixture.mountpoint).contains("user:502:r--"))
        for name in ["x/f", "x/g"] {
            let kept = try list(name)
            #expect(kept.contains("AAAA000001F6 inherited allow read,readextattr"), "\(name): \(kept)")
        }
        #expect(try shell("getfacl -cn d", on: fixture.mountpoint).contains("default:user:502:r--"))

        // A default ACL takes the place of the umask.
        _ = try shell("setfacl -d -m u:502:rw d; umask 077; : >d/h", on: fixture.mountpoint)
        #expect(try shell("getfacl -cn d/h; stat -c %a d/h", on: fixture.mountpoint).contains("mask::rw-"))
    }

    /// Entries that no POSIX ACL says are not seen, stay with what programs mean as a chmod, and are not lost when an ACL is set.
    @Test func otherEntriesHaveNoForm() throws {
        try fixture.mount()
        try makeHome()
        let aclfs = MountTesting.program("aclfs")
        let entries = "\(aclfs) ls -len f | tail -n +2 | cut -c2-"
        _ = try shell(
            "echo text >f; chmod 640 f; \(aclfs) chmod +a 'user:502 deny write' f; \(aclfs) chmod +a 'user:503 allow read,delete' f",
            on: fixture.mountpoint)
        let before = try shell(entries, on: fixture.mountpoint)
        #expect(before.contains("deny write") && before.contains("allow read,delete"))
        #expect(try shell("getfattr -n system.posix_acl_access f", on: fixture.mountpoint).contains("No such attribute"))
        let shown = try shell("ls -l f | cut -c1-11; getfacl -cn f", on: fixture.mountpoint)
        #expect(shown == "-rw-r----- \nuser::rw-\ngroup::r--\nother::---\nstatus 0", "\(shown)")
        // install and cp -p set an ACL that says no more than a mode.
        #expect(
            try shell("cp -p /etc/passwd new; cat new >f; setfacl -m u::rwx,g::-,o::r f; stat -c %a f; \(entries)", on: fixture.mountpoint)
                == "704\n" + before)
        #expect(try shell("setfacl -b f; \(entries)", on: fixture.mountpoint) == before)
        // An ACL that names a user would lose them.
        let set = try shell("setfacl -m u:502:r f; stat -c %a f; \(entries)", on: fixture.mountpoint)
        #expect(set == "setfacl: f: Operation not supported\n704\n" + before, "\(set)")
        #expect(try shell("\(aclfs) chmod -N f; setfacl -m u:502:r f; getfacl -cn f", on: fixture.mountpoint).contains("user:502:r--"))
        // So would one of a directory, and a default ACL.
        let inheritable = "user:503 allow list,file_inherit,directory_inherit"
        let directory = try shell(
            "mkdir d; \(aclfs) chmod +a '\(inheritable)' d; setfacl -m u:502:rx d; setfacl -d -m u:502:rx d; \(aclfs) ls -lden d",
            on: fixture.mountpoint)
        #expect(directory.components(separatedBy: "Operation not supported").count == 3, "\(directory)")
        #expect(directory.contains("000001F7 allow list,file_inherit,directory_inherit\n"), "\(directory)")
        // What only children inherit is no part of its access ACL.
        let inherited = try shell(
            "\(aclfs) chmod -N d; \(aclfs) chmod +a '\(inheritable),only_inherit' d; setfacl -m u:502:rx d; getfacl -cn d; touch d/f; "
                + "\(aclfs) ls -len d/f", on: fixture.mountpoint)
        #expect(inherited.contains("user:502:r-x") && !inherited.contains("default:") && !inherited.contains("user:503:"), "\(inherited)")
        #expect(inherited.contains("000001F7 inherited allow read"), "\(inherited)")
    }

    /// A copy has the inherited entries of its new place besides the ACL that the original had.
    @Test(arguments: [
        "cp -a q p/f", "cp q p/f; setfacl -m u:502:r,u:503:- p/f", "rsync -aXA q p/f",
        "tar --acls -cf - q | tar --acls -C p -xf -; mv p/q p/f",
    ])
    func inheritedEntriesStayBesideAnACL(copy: String) throws {
        try fixture.mount()
        try makeHome()
        let aclfs = MountTesting.program("aclfs")
        let place = "mkdir p; \(aclfs) chmod +a 'user:504 deny read,file_inherit' p"
        let source = "echo text >q; chmod 644 q; setfacl -m u:502:r,u:503:- q"
        #expect(try shell("\(place); \(source)", on: fixture.mountpoint) == "\nstatus 0")
        let list = "\(aclfs) ls -len p/f | tail -n +2"
        // Twice: the same copy comes again.
        for _ in 0..<2 {
            let said = try shell(copy, on: fixture.mountpoint)
            #expect(said == "\nstatus 0", "\(said)")
            let entries = try shell(list, on: fixture.mountpoint)
            #expect(entries.contains("000001F6 allow read") && entries.contains("000001F8 inherited deny read\n"), "\(entries)")
            let readers = try [501, 502, 503, 504].map {
                try TestUser(uid: $0, gid: 20, groups: [20]).shell("cat '\(fixture.mountpoint)/home/p/f'").status
            }
            #expect(readers == [0, 0, 1, 1])
        }
        // getfacl shows what was set, so that setfacl adds to it; what programs mean as a chmod removes it.
        let added = try shell("setfacl -m u:502:rw p/f && getfacl -cn p/f; \(list)", on: fixture.mountpoint)
        #expect(added.contains("user:502:rw-\nuser:503:---\n") && added.contains("000001F8 inherited deny read\n"), "\(added)")
        let left = try shell("setfattr -x system.posix_acl_access p/f; \(list)", on: fixture.mountpoint)
        #expect(left.contains("0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F8 inherited deny read\n") && !left.contains("1F6"), "\(left)")
    }

    /// The list that a backing object has by itself is shown, and replaced by entries.
    @Test func theBackingObjectsOwnListIsReplaced() throws {
        for top in [fixture.backing, native] {
            mkdir(top + "/home", 0o755)
            chown(top + "/home", 501, 20)
            close(open(top + "/home/f", O_CREAT | O_WRONLY, 0o640))
            mkdir(top + "/home/d", 0o755)
            for name in ["f", "d"] {
                chown("\(top)/home/\(name)", 501, 20)
                _ = try Spawn.run(["setfacl", "-m", "u:502:rwx,m::rx", "\(top)/home/\(name)"])
            }
            _ = try Spawn.run(["setfacl", "-d", "-m", "u:503:rwx", "\(top)/home/d"])
        }
        _ = try Spawn.run(["setfacl", "-m", "u:502:rx", fixture.backing + "/home"])
        #expect(try fixture.mount().output.contains("setfacl on the mount replaces one by entries"))
        _ = try Spawn.run(["setfacl", "-b", fixture.path("home")])
        try expectSame("getfacl -n f d; ls -ld f d | cut -c1-11; chmod g+w f; getfacl -n f")
        try expectSame("setfacl -m g:600:rw f; getfacl -n f; setfacl -d -m u:502:- d; touch d/n; getfacl -n d d/n")
        let left = try Spawn.run(["getfacl", "-cn", fixture.backing + "/home/f", fixture.backing + "/home/d"]).output
        #expect(!left.contains("user:502:rwx\n") && !left.contains("default:"), "\(left)")
        try expectSame("setfacl -b f; setfacl -bk d; getfacl -n f d; stat -c %a f d")
    }

    // MARK: Refusals

    @Test func aMalformedListChangesNothing() throws {
        try fixture.mount()
        try makeHome()
        _ = try shell("echo text >f; setfacl -m u:502:r f; getfacl -n f >was", on: fixture.mountpoint)
        func value(_ entries: [(UInt8, UInt8, UInt8)]) -> String {
            "0x02000000"
                + entries.map { entry in
                    [entry.0, 0, entry.1, 0].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                        + (entry.2 == 0 ? "ffffffff" : "\(String(entry.2, radix: 16))000000")
                }.joined()
        }
        let malformed: [[(UInt8, UInt8, UInt8)]] = [
            [(1, 6, 0), (1, 6, 0), (4, 4, 0), (32, 0, 0)], [(1, 6, 0), (2, 6, 200), (4, 4, 0), (32, 0, 0)],
            [(4, 4, 0), (1, 6, 0), (32, 0, 0)],
            [(1, 6, 0), (4, 4, 0)], [(1, 6, 0), (4, 4, 0), (16, 4, 0), (16, 4, 0), (32, 0, 0)], [(1, 8, 0), (4, 4, 0), (32, 0, 0)],
        ]
        for entries in malformed {
            let said = try shell(
                "setfattr -n system.posix_acl_access -v \(value(entries)) f; getfacl -n f | cmp - was && echo same", on: fixture.mountpoint)
            #expect(said.contains("Invalid argument") && said.contains("same"), "\(entries): \(said)")
        }
        let good = value([(1, 6, 0), (2, 4, 200), (4, 4, 0), (16, 4, 0), (32, 0, 0)])
        #expect(
            try shell("setfattr -n system.posix_acl_access -v \(good) f && getfacl -cn f", on: fixture.mountpoint).contains("user:200:r--"))
    }

    @Test func posixaclOffServesNone() throws {
        try fixture.mount("posixacl=off")
        try makeHome()
        let said = try shell(
            "touch f; setfacl -m u:502:r f; getfattr -n system.posix_acl_access f; getfattr -n system.posix_acl_default .; ls -l f | cut -c1-11",
            on: fixture.mountpoint)
        #expect(said.components(separatedBy: "Operation not supported").count == 4 && said.contains("-rw-r--r--\nstatus"), "\(said)")
        // So does a mount that evaluates no entries.
        try fixture.unmount()
        try fixture.mount("noacl")
        #expect(try shell("setfacl -m u:502:r f", on: fixture.mountpoint).contains("Operation not supported"))
    }

    /// Of an object without entries `ls -l` learns that it has none, and shows no mark.
    @Test func theMarkOfLsStandsForAList() throws {
        try fixture.mount()
        try makeHome()
        try expectSame(
            "touch a b; mkdir c d; setfacl -m u:502:r a; setfacl -m u:502:rx c; ls -l | tail -n +2 | cut -c1-11; setfacl -d -m o::- d; ls -l | tail -n +2 | cut -c1-11"
        )
        #expect(
            try shell("getfattr -m ^system a; getfattr -m ^system b", on: fixture.mountpoint)
                .contains("# file: a\nsystem.posix_acl_access\nstatus"))
    }
}
