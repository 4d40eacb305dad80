import TestSupport
import Testing

/// What an ordinary user's daemon does without root's ways: it opens no handles, and reads and writes `user.*` attributes only as
/// the mode lets it.
extension UserMountTests {
    private static let begin = #"""
        mount_it() { zed "$A" mount "$T/zed/back" "$T/mnt" 2>/dev/null; is mount 0 $?; }
        # No other user may even pass.
        m() { zed sh -c 'cd "$0" && exec "$@"' "$T/mnt" "$@"; }
        unmount_it() { zed "$A" unmount "$T/mnt"; is unmount 0 $?; }

        """#
    private static let end = #"""

        unmount_it
        rm -rf /tmp/aclfs-61744
        """#

    private func runOnMount(_ script: String) throws -> CommandResult {
        try MountNamespace().run(Self.setup + Self.begin + script + Self.end)
    }

    @Test func whatWasRemovedAndIsOpenCanStillBeUsed() throws {
        let result = try runOnMount(
            #"""
            mount_it
            cat >"$T/removed.py" <<'END'
            import os
            f = open("file", "w+"); f.write("text"); f.flush(); os.unlink("file")
            n = f.fileno()
            assert os.fstat(n).st_nlink == 0
            os.fchmod(n, 0o640); os.ftruncate(n, 2); os.utime(n, (1, 2)); os.setxattr(n, "user.x", b"1")
            assert os.getxattr(n, "user.x") == b"1" and os.fstat(n).st_size == 2 and os.fstat(n).st_mtime == 2
            assert open("/proc/self/fd/%d" % n).read() == "te"
            open("old", "w").close(); open("new", "w").close()
            g = os.open("old", os.O_RDWR); os.rename("new", "old"); os.fchmod(g, 0o600); os.ftruncate(g, 1)
            os.mkdir("dir"); d = os.open("dir", os.O_RDONLY); os.rmdir("dir"); os.fstat(d); os.fchmod(d, 0o700)
            t = os.open(".", os.O_TMPFILE | os.O_RDWR); os.fstat(t); os.ftruncate(t, 3)
            os.link("/proc/self/fd/%d" % t, "linked", src_dir_fd=os.open(".", 0), follow_symlinks=True); os.close(t); assert os.stat("linked").st_size == 3
            print("used")
            END
            is removed used "$(m python3 "$T/removed.py" 2>&1)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The kernel remembers names for long; the daemon holds a bounded number of descriptors.
    @Test func moreObjectsThanDescriptors() throws {
        let result = try runOnMount(
            #"""
            (ulimit -n 256; mount_it)
            cat >"$T/many.py" <<'END'
            import os
            for d in range(10):
                os.makedirs("d%d/sub" % d)
                for n in range(60): open("d%d/sub/%d" % (d, n), "w").write("%d/%d" % (d, n))
            for d in range(10):
                for n in range(60):
                    with open("d%d/sub/%d" % (d, n), "a") as f: f.write("+")
            os.rename("d3/sub", "d4/moved"); os.rename("d5", "e5"); os.link("d6/sub/7", "d7/hard"); os.unlink("d6/sub/7")
            for d, place in ((3, "d4/moved"), (5, "e5/sub"), (8, "d8/sub")):
                for n in range(60): assert open("%s/%d" % (place, n)).read() == "%d/%d+" % (d, n)
            assert open("d7/hard").read() == "6/7+"
            os.chdir("e5/sub")
            for n in range(60): os.stat("../../d1/sub/%d" % n); os.chmod("../../d2/sub/%d" % n, 0o600)
            assert open("59").read() == "5/59+" and len(os.listdir(".")) == 60
            print("found")
            END
            is many found "$(m python3 "$T/many.py" 2>&1)"
            # What was changed on the backing directory is another object, or none.
            (cd "$T/zed/back"; zed rm d9/sub/1; zed cp d9/sub/2 d9/sub/1; zed mv d9/sub/3 d9/sub/3x)
            for n in 1 2; do for d in 0 1 2 4 8; do m cat d$d/sub/* >/dev/null 2>&1; done; done; sleep 1.1
            is replaced '9/2+' "$(m cat d9/sub/1 2>&1)"
            is renamed '9/3+' "$(m cat d9/sub/3x 2>&1)"
            holds gone "$(m cat d9/sub/3 2>&1)" 'No such file'
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Attributes named user.* can be read by who may read the object, and listed by every caller.
    @Test func whatItsOwnerMayNotRead() throws {
        let result = try runOnMount(
            #"""
            cd "$T/zed/back"; zed touch closed writeonly listed; zed mkdir dir listing; touch roots
            mount_it
            m "$A" chmod +a 'everyone deny delete' listed; m "$A" chmod +a 'everyone allow list,file_inherit' listing
            unmount_it; cd "$T/zed/back"
            zed chmod 0 closed listed dir listing; zed chmod 200 writeonly; chmod 600 roots
            mount_it
            for name in closed:0 writeonly:200 dir:0 roots:600 listed:0 listing:0; do
                is "$name" "${name#*:}" "$(m stat -c %a "${name%:*}" 2>&1)"
            done
            is mv '' "$(m mv writeonly moved 2>&1)"
            is chmod 'it is open' "$(m sh -c "chmod 600 closed && echo it is open >closed; cat closed" 2>&1)"
            is 'a directory' '' "$(m sh -c "chmod 700 dir && ls dir" 2>&1)"
            holds "root's" "$(m cat roots 2>&1)" 'Permission denied'
            holds 'its list' "$(m "$A" ls -le listed 2>&1)" 'group:everyone deny delete'
            holds 'its entry' "$(m rm -f listed 2>&1)" 'Permission denied'
            is 'no bit is left' '0 0' "$(cd "$T/zed/back"; stat -c %a listed listing | xargs)"
            is 'opened again' '' "$(m chmod 600 listed 2>&1)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Flags are read and set by other rights than r and w, and so are marks of backups and attributes that an entry grants
    /// (docs/decisions/0016-an-ordinary-users-daemon.md).
    @Test func flagsAndAttributesOfWhatItsOwnerMayNotRead() throws {
        let result = try runOnMount(
            #"""
            mount_it
            m touch f g; m mkdir d; m "$A" backup exclude f d; m setfattr -n user.note -v first f
            for name in f g d; do m "$A" chmod +a 'zed allow readextattr,writeextattr' $name; done
            m chmod 200 f; m chmod 0 g d
            for name in f g d; do
                is "$name: set" '' "$(m "$A" chflags hidden $name 2>&1)"
                holds "$name: read" "$(m getfattr --only-values -n system.aclfs.flags $name 2>&1)" hidden
                holds "$name: shown" "$(m "$A" ls -ldO $name 2>&1)" hidden
            done
            holds 'a mark is a flag' "$(m getfattr --only-values -n system.aclfs.flags f 2>&1)" nodump
            is 'the mark goes with the flag' '' "$(m "$A" chflags nohidden,dump f 2>&1)"
            is 'it is gone' '-' "$(m getfattr --only-values -n system.aclfs.flags f 2>&1)"
            is 'and can be set again' '' "$(m "$A" backup exclude f 2>&1)"
            is 'an attribute' first "$(m getfattr --only-values -n user.note f 2>&1)"
            for name in f g d; do
                is "$name: set an attribute" '' "$(m setfattr -n user.more -v second $name 2>&1)"
                is "$name: read it" second "$(m getfattr --only-values -n user.more $name 2>&1)"
                is "$name: remove it" '' "$(m setfattr -x user.more $name 2>&1)"
                holds "$name: none" "$(m getfattr -n user.more $name 2>&1)" 'No such attribute'
            done
            unmount_it
            cd "$T/zed/back"
            is modes '200 0 0' "$(stat -c %a f g d | xargs)"
            # Without a mount: what was read of the record alone.
            is listed 'd f' "$(zed "$A" backup list --offline . 2>/dev/null | sed 's,.*/,,' | sort | xargs)"
            is 'the same export' 3 "$(zed "$A" acl export --offline --metadata user . 2>&1 | grep -c 'user:zed allow readextattr')"
            mount_it
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The owner of an object may change its list and flags whatever its mode says.
    @Test func whatItsOwnerMayNotWrite() throws {
        let result = try runOnMount(
            #"""
            mount_it
            m touch file; m chmod 444 file; m mkdir dir; m chmod 555 dir
            for name in file dir; do
                is "$name: a list" '' "$(m "$A" chmod +a 'user:1 allow read' $name 2>&1)"
                holds "$name: it" "$(m "$A" ls -led $name 2>&1)" 'user:daemon allow'
                is "$name: a flag" '' "$(m "$A" chflags uchg $name 2>&1)"
                holds "$name: it binds" "$(m chmod 700 $name 2>&1)" 'Operation not permitted'
                is "$name: no flag" '' "$(m "$A" chflags nouchg $name 2>&1)"
                is "$name: a backup mark" '' "$(m "$A" backup exclude $name 2>&1)"
                is "$name: no list" '' "$(m "$A" chmod -N $name 2>&1)"
            done
            is modes '444 555' "$(cd "$T/zed/back"; stat -c %a file dir | xargs)"
            # Made with entries and a mode that lets no caller read them.
            m mkdir heirs; m "$A" chmod +a 'user:1 allow list,read,file_inherit,directory_inherit' heirs
            is 'made closed' '' "$(m python3 -c 'import os; os.open("heirs/file", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0); os.mkdir("heirs/dir", 0)' 2>&1)"
            is 'their modes' '0 0' "$(m stat -c %a heirs/file heirs/dir | xargs)"
            is 'they go' '' "$(m sh -c 'rm -f heirs/file; rmdir heirs/dir' 2>&1)"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
