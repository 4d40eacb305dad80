import TestSupport
import Testing

/// Where an ordinary user's control socket lies (docs/decisions/0021-place-of-the-control-socket.md): in a place that no other user has.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ControlPlaceTests {
    private func run(_ script: String) throws -> CommandResult {
        try MountNamespace().run(
            UserMountTests.setup.replacing("61743", with: "61755")
                + #"""
                unset XDG_RUNTIME_DIR; PLACE=/tmp/aclfs-61755; trap 'leave; umount -l "$PLACE" 2>/dev/null; rm -rf "$PLACE"' EXIT
                mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p /run/user "$T/zed/run"; chmod 700 "$T/zed/run"; chown 61755:61755 "$T/zed/run"
                socket() { ls "$1" 2>/dev/null | grep -c 'sock$'; }
                unmount_it() { is 'unmount' 0 "$(zed "$A" unmount "$T/mnt" 2>&1; echo $?)"; }

                """# + script)
    }

    @Test(arguments: [
        ("mkdir -m 700 NAME", "belongs to user 61749"), ("mkdir -m 777 NAME", "belongs to user 61749"),
        ("touch NAME", "belongs to user 61749"),
        ("ln -s \"$T/zed/run\" NAME", "belongs to user 61749"), ("mkfifo NAME", "belongs to user 61749"),
    ])
    func whereAnotherWasThereFirstNothingIsMounted(_ squatting: String, _ reason: String) throws {
        let result = try run(
            #"""
            export T; other sh -c 'SQUAT'
            said=$(zed "$A" mount "$T/zed/back" "$T/mnt" 2>&1); is 'squatted' 2 $?
            holds 'why' "$said" "$PLACE REASON"; holds 'what helps' "$said" 'XDG_RUNTIME_DIR'
            is 'not mounted' 0 "$(mounted "$T/mnt")"; is 'no daemon' '' "$(daemon "$T/mnt")"
            is 'nothing there' 0 "$(socket "$T/zed/run")"
            # What helps, and the usual place.
            export XDG_RUNTIME_DIR=$T/zed/run
            is 'with a directory of zed' 0 "$(zed "$A" mount "$T/zed/back" "$T/mnt" >/dev/null 2>&1; echo $?)"
            holds 'asked' "$(zed "$A" status "$T/mnt" 2>&1)" 'metadata in user.aclfs'; is 'its socket' 1 "$(socket "$T/zed/run/aclfs")"
            unmount_it; unset XDG_RUNTIME_DIR; mkdir -m 700 /run/user/61755; chown 61755:61755 /run/user/61755
            is 'in the usual place' 0 "$(zed "$A" mount "$T/zed/back" "$T/mnt" >/dev/null 2>&1; echo $?)"
            holds 'asked there' "$(zed "$A" status "$T/mnt" 2>&1)" 'metadata in user.aclfs'; is 'its socket' 1 "$(socket /run/user/61755/aclfs)"
            holds 'asked by root' "$("$A" status "$T/mnt" 2>&1)" 'metadata in user.aclfs'
            unmount_it
            """#.replacing("SQUAT", with: squatting.replacing("NAME", with: "/tmp/aclfs-61755")).replacing("REASON", with: reason))
        #expect(result.output == "done", "\(result)")
    }

    /// The socket is missing: the places are named, in this namespace and in a user namespace. Neither is a sandbox.
    @Test func aMissingSocketIsNoSandbox() throws {
        let result = try run(
            #"""
            zed "$A" mount "$T/zed/back" "$T/mnt" >/dev/null 2>&1; rm -rf "$PLACE"
            for inside in '' 'unshare --user --map-current-user'; do
                said=$(zed $inside "$A" explain stat "$T/mnt/f" 2>&1); is "<$inside> it fails" 2 $?
                holds "<$inside> where" "$said" "it has no socket in /run/user/61755/aclfs or $PLACE: it has ended, could make none, or was started in another"
                case $said in *sandbox*) echo "<$inside> $said" ;; esac
            done
            "$A" unmount -f "$T/mnt" 2>/dev/null; is 'nothing stays' 0 "$(mounted "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// What belongs to no other user, but is not as it should be.
    @Test(arguments: [
        ("mkdir -m 770 NAME", "others may write in"), ("touch NAME", "is not a directory"), ("ln -s /tmp NAME", "is not a directory"),
    ])
    func whatIsNotClosedIsNotUsed(_ made: String, _ reason: String) throws {
        let result = try run(
            #"""
            export T; zed sh -c 'MADE'
            said=$(zed "$A" mount "$T/zed/back" "$T/mnt" 2>&1); is 'refused' 2 $?
            holds 'why' "$said" 'REASON'; is 'not mounted' 0 "$(mounted "$T/mnt")"
            """#.replacing("MADE", with: "umask 0; " + made.replacing("NAME", with: "/tmp/aclfs-61755")).replacing("REASON", with: reason))
        #expect(result.output == "done", "\(result)")
    }

    @Test func theEnvironmentCountsWhereItNamesAPlaceOfTheUsersAlone() throws {
        let result = try run(
            #"""
            mkdir -m 700 /run/user/61755 "$T/roots"; chown 61755:61755 /run/user/61755
            long=$T/zed/$(printf 'x%.0s' $(seq 80)); zed mkdir -m 700 "$long"; zed mkdir -m 755 "$T/zed/open"
            for named in "$T/zed/open" "$T/roots" "$T/none" "$T/mnt" "$long" relative; do
                export XDG_RUNTIME_DIR=$named
                is "$named: mounted" 0 "$(zed "$A" mount "$T/zed/back" "$T/mnt" >/dev/null 2>&1; echo $?)"
                is "$named: not there" 0 "$(socket "$named/aclfs")"; is "$named: in the usual place" 1 "$(socket /run/user/61755/aclfs)"
                holds "$named: asked" "$(zed "$A" status "$T/mnt" 2>&1)" 'metadata in user.aclfs'
                unmount_it
            done
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
