import TestSupport
import Testing

/// Names are taken back one by one while something is mounted below, and whoever holds a directory keeps them waiting:
/// what he may win is bounded (docs/internals/coherence.md "The price of a bump").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct HeldDirectoryTests {
    /// `sees NAME` says 0 if another user reaches it; `tries NAME…` does not wait for it, for what the kernel must ask about
    /// waits for the directory too, and `tried NAME` says what has come of it. What changes on the backing directory is to
    /// be seen within a period, a second. `below` has names taken back one by one.
    private static let prelude =
        SlowReader.prelude + #"""
            mkdir -m 700 "$T/private"; B=$T/private/back; mkdir -p "$B/below"
            for i in held free $(seq 12); do mkdir "$B/$i"; touch "$B/$i/name"; done
            "$A" mount "$B" "$T/mnt"
            sees() { setpriv --reuid 61751 --regid 61751 --clear-groups stat "$T/mnt/$1" >/dev/null 2>&1; echo $?; }
            tries() { for name in "$@"; do sees $name >"$T/tried-${name%%/*}" & tries="${tries-} $!"; done; sleep 1; }
            tried() { cat "$T/tried-${1%%/*}"; }
            reached() { [ "$(tried "$1")" != 0 ] || echo "$1 is reached"; }
            below() {
                mount -t tmpfs none "$T/mnt/below"
                for i in $(seq 500); do "$A" status --json "$T/mnt" | grep -q 'a mount stands below' && return; sleep 0.02; done
                echo 'no mount is seen'
            }
            end() { umount -l "$T/mnt/below" 2>/dev/null; "$A" unmount "$T/mnt"; "$A" unmount "$T/slow"; }

            """#

    /// Neither his own directory's names nor those of others outlive the period because he is in the way.
    @Test func namesAreTakenBackPastWhoHoldsADirectory() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                sees held/name >"$T/kept"; slow mnt/held
                # A held listing ends each epoch with its period: what is believed now was not looked for before.
                for i in held free; do is "$i" 0 "$(sees $i/name)"; done; below
                chmod 700 "$B/held" "$B/free"; sleep 3
                is 'free' 1 "$(sees free/name)"
                tries held/name; reached held/name
                go_on; wait $tries; is 'held' 1 "$(tried held/name)"; end
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// More directories than threads that take names back.
    @Test func whoHoldsManyKeepsNoMore() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                for i in $(seq 12); do sees $i/name >"$T/kept"; done; slow mnt/{1,2,3,4,5,6,7,8,9,10,11,12}
                for i in $(seq 12) free; do is "$i" 0 "$(sees $i/name)"; done; below
                for i in free $(seq 12); do chmod 700 "$B/$i"; done; sleep 3
                is 'free' 1 "$(sees free/name)"
                tries {1,2,3,4,5,6,7,8,9,10,11,12}/name
                for i in $(seq 12); do reached $i/name; done
                go_on; wait $tries; for i in $(seq 12); do is "$i" 1 "$(tried $i/name)"; done; end
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Saved by renaming while names are being taken back: what was looked up under the old name has the new one.
    @Test func whatIsRenamedMeanwhile() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                chmod 777 "$B/free"
                as() { setpriv --reuid $1 --regid $1 --clear-groups "${@:2}"; }
                reached() { as 61751 stat "$T"/mnt/free/new.{1..600} 2>/dev/null | grep -c File:; }
                mkfifo "$T/go"
                for attempt in 1 2 3 4; do
                    chmod 755 "$T/mnt/free"; chown 61752 "$T/mnt/free"; sleep 1.2; rm -f "$T"/mnt/free/*
                    touch "$T"/mnt/free/old.{1..600} "$T/said"
                    python3 -c 'if True:
                        import os, sys
                        os.setgroups([]); os.setresgid(61752, 61752, 61752); os.setresuid(61752, 61752, 61752); os.chdir(sys.argv[1])
                        print("ready", flush=True); open(sys.argv[2]).read(1)
                        for number in range(1, 601): os.rename(f"old.{number}", f"new.{number}")
                    ' "$T/mnt/free" "$T/go" >"$T/said" & renaming=$!
                    for i in $(seq 500); do grep -qs ready "$T/said" && break; sleep 0.02; done
                    # Absent names take their time, so that the renaming meets the taking back.
                    as 61751 stat "$T"/mnt/free/old.{1..600} "$T"/mnt/held/{1..4000} >/dev/null 2>&1
                    echo x >"$T/go"; below; wait $renaming; sleep 0.5; is 'all are there' 600 "$(reached)"
                    as 61752 chmod 700 "$T/mnt/free"; is 'taken back' 0 "$(reached)"; sleep 1; is 'still' 0 "$(reached)"
                    umount -l "$T/mnt/below" 2>/dev/null
                done
                end
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Whoever mounts and unmounts without end puts nothing off. A directory that is held cannot be invalidated singly, so a bump does it a
    /// second later, and may detach one of the mounts.
    @Test func mountingAgainAndAgain() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                exec 8<"$T/mnt/held"
                inside() { setpriv --reuid 61751 --regid 61751 --clear-groups stat /proc/self/fd/8/name >/dev/null 2>&1; echo $?; }
                sees held/name >"$T/kept"; slow mnt/held; is 'before' 0 "$(inside)"
                (while [ ! -e "$T/enough" ]; do
                    mount -t tmpfs none "$T/mnt/below"; sleep 0.38; umount -l "$T/mnt/below" 2>/dev/null; sleep 0.03
                done) & cycles=$!
                sleep 0.5; chmod 700 "$B/held"; sleep 3
                inside >"$T/tried" & tried=$!; sleep 1; [ "$(cat "$T/tried")" != 0 ] || echo 'reached'
                touch "$T/enough"; wait $cycles; go_on; wait $tried; is 'at last' 1 "$(cat "$T/tried")"
                exec 8<&-; end
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A second mount of the tree waits for nobody longer than it says, and does not keep others waiting.
    @Test func anotherMountMeanwhile() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                plainly=1; for i in 1 2 3; do sees $i/name >"$T/kept"; done; slow mnt/{1,2,3}
                for i in 1 2 3; do is "$i" 0 "$(sees $i/name)"; done; below
                mkdir "$T/second"; timeout 20 "$A" mount "$B" "$T/second" >"$T/said" 2>&1
                case $? in 0) "$A" unmount "$T/second" ;; 124) echo "it hangs" ;; *) holds 'says why' "$(cat "$T/said")" 'listing' ;; esac
                go_on; end
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The kernel stamps the names of a listing when it uses it, and no bump ends that epoch. Seen from inside: on the way
    /// there the directory itself would be looked up anew, and what is below it forgotten.
    @Test func aListingThatIsUsedWhileSomethingIsMountedBelow() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                inside() { setpriv --reuid 61751 --regid 61751 --clear-groups stat /proc/self/fd/8/name >/dev/null 2>&1; echo $?; }
                exec 8<"$T/mnt/held"; is 'free' 0 "$(sees free/name)"; slow mnt/held
                # A revocation: what the listing shows is of an earlier epoch.
                chmod 700 "$T/mnt/free"; is 'at once' 1 "$(sees free/name)"
                below; go_on; is 'listed' 0 "$(inside)"
                chmod 700 "$B/held"; sleep 3; is 'taken back' 1 "$(inside)"
                exec 8<&-; end
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
