import TestSupport
import Testing

/// What the kernel decides without asking, as docs/reference/security.md lists it: a kernel that asks one day is noticed.
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct KernelShortcutTests {
    private static let prelude = #"""
        mkdir -p "$T/back/closed" "$T/back/list"; mkdir -m 1777 "$T/back/sticky"; touch "$T/back/list/name"; chmod 755 "$T/back" "$T/back/closed"
        "$A" mount "$T/back" "$T/mnt" 2>/dev/null; M=$T/mnt; mkfifo "$T/go"
        as() { setpriv --reuid 61790 --regid 61790 --clear-groups "$@"; }

        """#

    /// Q24 of docs/reference/authorization.md.
    @Test func outOfADirectoryThatWasClosed() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                (cd "$M/closed"; as sh -c 'read -r line <"$0"; stat .. >/dev/null && ls ../list' "$T/go") >"$T/said" 2>&1 & inside=$!
                for i in $(seq 500); do [ "$(readlink /proc/$inside/cwd)" = "$M/closed" ] && break; sleep 0.02; done
                chmod 700 "$M/closed"; echo >"$T/go"; wait $inside
                is 'the way up' name "$(cat "$T/said")"; is 'and not down' 2 "$(status as ls "$M/closed")"
                "$A" unmount "$M"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The kernel sees no sticky bit on a mount that it does not judge itself, so these settings of the system never apply.
    @Test func protectedNamesInStickyDirectories() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                echo text >"$M/file"; as ln -s ../file "$M/sticky/link"; is 'symlink' text "$(cat "$M/sticky/link")"
                as sh -c 'echo theirs >"$0"; chmod 666 "$0"' "$M/sticky/regular"; is 'regular' 0 "$(status sh -c 'echo mine >"$0"' "$M/sticky/regular")"
                as mkfifo -m 666 "$M/sticky/fifo"; is 'FIFO' 0 "$(status python3 -c 'import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)' "$M/sticky/fifo")"
                "$A" unmount "$M"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// fstat(2) is a stat(2): opendir(3) ends there.
    @Test func listingWithoutReadattr() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                setfattr -n system.aclfs.acl -v 'user:61790 deny readattr' "$M/list"
                is 'ls' 2 "$(status as ls "$M/list")"; is 'root' name "$(ls "$M/list")"
                "$A" unmount "$M"
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
