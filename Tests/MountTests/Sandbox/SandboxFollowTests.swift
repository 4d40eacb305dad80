import TestSupport
import Testing

/// `aclfs sandbox grant add --follow`: a grant goes with its object, never stays for another object at the old path, and ends with the
/// object (docs/reference/sandbox-zones.md Z16).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxFollowTests {
    /// A view, a mount without a profile, and another application's view of everything.
    private static let prelude =
        SandboxGrantTests.prelude + #"""
            "$A" mount "$T/back" "$T/mnt"; "$A" mount -o "$V" "$T/back" "$T/view"
            S=$T/mnt/Users/ann
            follow() { add --follow "$@"; }
            # What the view says of a path: `yes`, or the error of a read.
            sees() { (read -r line <"$T/view/$1") 2>&1 | sed 's/.*: //'; [ "${PIPESTATUS[0]}" = 0 ] && echo yes; }
            logged() { grep -c "$1" "$T/log" 2>/dev/null; }

            """#

    private func run(_ script: String) throws {
        let result = try MountNamespace().run(Self.prelude + script)
        #expect(result.output == "done", "\(result)")
    }

    @Test func aFolderThatMoves() throws {
        try run(
            #"""
            is 'added' '' "$(follow --read-only "$S/Letters")"
            is 'read' 0 "$(reads Users/ann/Letters/one)"; is 'below' 0 "$(reads Users/ann/Letters/old/two)"; is 'only' 1 "$(writes Users/ann/Letters/one)"
            holds 'listed' "$(grant list "$T/mnt")" "$S/Letters/  follows it"
            # A name that the view has looked up, and one that it could not.
            is 'not yet' 1 "$(reads Users/ann/Mail/one)"
            chmod 755 "$T" "$T/mnt"; chown -R 501:20 "$T/back/Users/ann"; "$ACT" 501 20 - -- mv "$S/Letters" "$S/Mail"; chmod 700 "$T/mnt"
            is 'renamed' 0 "$(reads Users/ann/Mail/one)"; is 'no more' 1 "$(reads Users/ann/Letters/one)"
            mkdir -p "$S/Letters"; echo secret >"$S/Letters/one"
            is 'another at the old path' 1 "$(reads Users/ann/Letters/one)"; is 'it is not even shown' 1 "$(stat "$T/view/Users/ann/Letters/one" >/dev/null 2>&1; echo $?)"
            mkdir -p "$T/mnt/far/away"; mv "$S/Mail" "$T/mnt/far/away/box"
            is 'moved' 0 "$(reads far/away/box/old/two)"; is 'no more there' 1 "$(reads Users/ann/Mail/one)"
            mv "$T/mnt/far" "$T/mnt/near"; is 'a directory above moved' 0 "$(reads near/away/box/one)"; is 'not there' 1 "$(reads far/away/box/one)"
            holds 'listed where it is' "$(grant list "$T/mnt")" "$T/mnt/near/away/box/  follows it"
            holds 'for programs' "$(grant list --json "$T/mnt")" '"follows":true,"found":true'
            # It exchanges its place with another.
            python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2))' \
                "$T/mnt/near/away/box" "$S/Letters"
            is 'exchanged' 0 "$(reads Users/ann/Letters/old/two)"; is 'the other' 1 "$(reads near/away/box/one)"
            # Inside the view it stays where it is, as every granted place.
            is 'from inside' 1 "$(mv "$T/view/Users/ann/Letters" "$T/view/Users/ann/L" 2>/dev/null; echo $?)"
            # A later daemon finds it, also after moves meanwhile.
            umount "$T/view" "$T/mnt"; mv "$T/back/Users/ann/Letters" "$T/back/Users/ann/Post"
            "$A" mount -o "$V" "$T/back" "$T/view"; is 'a later daemon' 0 "$(reads Users/ann/Post/old/two)"; is 'not the path' 1 "$(reads Users/ann/Letters/one)"
            "$A" mount "$T/back" "$T/mnt"
            # Below the mount, within the time that a zone counts.
            mv "$T/back/Users/ann/Post" "$T/back/Users/ann/Mail"; sleep 1.3; is 'moved below' 0 "$(reads Users/ann/Mail/one)"; is 'not before' 1 "$(reads Users/ann/Post/one)"
            is 'removed' '' "$(remove "$S/Mail")"; is 'at once' 1 "$(reads Users/ann/Mail/one)"; is 'nothing is kept' '' "$(ls -A /var/lib/aclfs/grants)"
            """#)
    }

    @Test func aFileThatMoves() throws {
        try run(
            #"""
            is 'added' '' "$(follow --read-write "$S/Letters/one")"
            is 'written' 0 "$(writes Users/ann/Letters/one)"; is 'only it' 1 "$(reads Users/ann/Letters/old/two)"
            mv "$S/Letters/one" "$T/mnt/here"; is 'moved' 0 "$(writes here)"; is 'no more' 1 "$(reads Users/ann/Letters/one)"
            echo secret >"$S/Letters/one"; is 'another at the old path' 1 "$(reads Users/ann/Letters/one)"
            mkdir "$T/mnt/deep"; mv "$T/mnt/here" "$T/mnt/deep/f"; mv "$T/mnt/deep" "$T/mnt/deeper"; is 'with its directory' 0 "$(writes deeper/f)"
            # The store learns of it, so that a later daemon looks in the right directory.
            for i in $(seq 500); do grep -q '"deep*r*/f"' /var/lib/aclfs/grants/*.grants && break; sleep 0.02; done
            umount "$T/view" "$T/mnt"; mv "$T/back/deeper/f" "$T/back/deeper/g"; mv "$T/back/deeper" "$T/back/deepest"
            "$A" mount -o "$V" "$T/back" "$T/view"; "$A" mount "$T/back" "$T/mnt"
            is 'a later daemon' 0 "$(writes deepest/g)"; is 'not before' 1 "$(reads deeper/f)"
            # Moved with no view to follow.
            umount "$T/view"; mkdir "$T/mnt/else"; mv "$T/mnt/deepest/g" "$T/mnt/else/h"
            "$A" mount -o "$V" "$T/back" "$T/view"; is 'followed by the daemon' 0 "$(writes else/h)"
            # Of a file with two names each grant counts under its own, and under the other one when that is gone.
            ln "$T/mnt/else/h" "$T/mnt/else/second"; is 'another name' 1 "$(reads else/second)"
            is 'granted by it' '' "$(grant add --follow --bundle org.other.App --read-only "$T/mnt/else/second")"
            holds 'by the first' "$(grant list --bundle org.example.App "$T/mnt")" "$T/mnt/else/h  follows it"
            holds 'by the second' "$(grant list --bundle org.other.App "$T/mnt")" "$T/mnt/else/second  follows it"
            rm "$T/mnt/else/second"; holds 'the other one' "$(grant list --bundle org.other.App "$T/mnt")" "$T/mnt/else/h  follows it"
            is 'removed there' '' "$(grant remove --bundle org.other.App "$T/mnt/else/h")"
            # Behind the mount, and granted anew: the name of before does not count.
            is 'revoked' '' "$(remove "$T/mnt/else/h")"; mv "$T/back/else" "$T/back/there"; mv "$T/back/there/h" "$T/back/k"; sleep 1.3
            is 'anew' '' "$(follow --read-write "$T/mnt/k")"; is 'at its place' 0 "$(writes k)"
            mkdir "$T/mnt/else"; mv "$T/mnt/k" "$T/mnt/else/h"; is 'it follows' 0 "$(writes else/h)"
            # Replaced: the object is another.
            echo new >"$T/mnt/else/new"; mv -T "$T/mnt/else/new" "$T/mnt/else/h"; is 'replaced' 1 "$(reads else/h)"
            for i in $(seq 500); do [ -z "$(ls -A /var/lib/aclfs/grants)" ] && break; sleep 0.02; done
            is 'it ended with the object' '' "$(grant list "$T/mnt")"; is 'nothing is kept' '' "$(ls -A /var/lib/aclfs/grants)"
            """#)
    }

    @Test func itEndsWithTheObject() throws {
        try run(
            #"""
            is 'added' '' "$(follow --read-only "$S/Letters" "$T/mnt/alone")"
            # A grant of the place beside it stays.
            is 'a place' '' "$(add --read-only "$S/Other")"
            is 'read' 0 "$(reads alone)"; exec 5<"$T/mnt/alone"
            rm -r "$S/Letters" "$T/mnt/alone"; mkdir "$S/Letters"; echo secret >"$S/Letters/one"; echo secret >"$T/mnt/alone"
            is 'another folder' 1 "$(reads Users/ann/Letters/one)"; is 'another file' 1 "$(reads alone)"; exec 5<&-
            for i in $(seq 500); do grep -q Letters /var/lib/aclfs/grants/*.grants || break; sleep 0.02; done
            is 'listed' 1 "$(grant list "$T/mnt" | wc -l)"; is 'the place' 0 "$(reads Users/ann/Other/three)"
            # Removed while nothing is mounted: the number may be used again.
            is 'added' '' "$(follow --read-only "$T/mnt/alone")"; umount "$T/view" "$T/mnt"
            rm "$T/back/alone"; for i in $(seq 50); do echo secret >"$T/back/alone.$i"; done; echo secret >"$T/back/alone"
            "$A" mount -o "$V" "$T/back" "$T/view"; "$A" mount "$T/back" "$T/mnt"
            is 'a later daemon' 1 "$(reads alone)"; is 'revoked' 1 "$(grant list "$T/mnt" | wc -l)"
            # What leaves the tree is not revoked, and counts again when it comes back.
            is 'added' '' "$(follow --read-write "$S/Letters")"; mv "$T/back/Users/ann/Letters" "$T/letters"; sleep 1.3
            is 'gone' 1 "$(reads Users/ann/Letters/one)"; holds 'said' "$(grant list "$T/mnt")" "$S/Letters/  not found where it was last"
            holds 'for programs' "$(grant list --json "$T/mnt")" '"counts":false,"follows":true,"found":false'
            mkdir "$T/back/Users/ann/Letters"; echo secret >"$T/back/Users/ann/Letters/one"; sleep 1.3; is 'another there' 1 "$(reads Users/ann/Letters/one)"
            mv "$T/letters" "$T/back/Users/ann/Back"; sleep 1.3; is 'back' 0 "$(writes Users/ann/Back/one)"
            # A place that is mounted over shows another object.
            mkdir "$T/cover"; echo secret >"$T/cover/one"; mount --bind "$T/cover" "$T/back/Users/ann/Back"; sleep 1.3
            is 'mounted over' 1 "$(reads Users/ann/Back/one)"; umount "$T/back/Users/ann/Back"
            is 'removed' '' "$(remove --below "$T/mnt")"
            """#)
    }

    @Test func whatIsRefused() throws {
        try run(
            #"""
            mkdir "$T/back/other"; mount -t tmpfs tmpfs "$T/back/other"; mkdir "$T/back/other/d"
            said=$(follow --read-only "$T/mnt/other/d"); is 'another file system' 2 $?
            holds 'another file system' "$said" "$T/mnt/other/d: it is not on the file system of the directory that the mount serves"
            is 'the place' '' "$(add --read-only "$T/mnt/other/d")"; remove "$T/mnt/other/d"; umount -l "$T/back/other"
            said=$(follow --read-only "$S/Letters" "$S/none"); is 'all or none' 2 $?; holds 'all or none' "$said" "$S/none: No such file"; is 'none' '' "$(grant list "$T/mnt")"
            # Of two grants for an object at a path the later one counts, whether it follows or not.
            is 'followed' '' "$(follow --read-write "$S/Letters")"; is 'the place instead' '' "$(add --read-only "$S/Letters")"
            is 'one' 1 "$(grant list "$T/mnt" | wc -l)"; mv "$S/Letters" "$S/L"; is 'it stayed' 1 "$(reads Users/ann/L/one)"
            is 'followed' '' "$(follow --read-only "$S/L")"; remove "$S/Letters"; is 'one more' 0 "$(reads Users/ann/L/one)"
            # An older daemon must not take it for a grant of a place.
            holds 'a later version' "$(head -n 1 /var/lib/aclfs/grants/*.grants)" '{"v":2,'; remove "$S/L"
            is 'of a place' '' "$(add --read-only "$S/L")"; holds 'as before' "$(head -n 1 /var/lib/aclfs/grants/*.grants)" '{"v":1,'
            """#)
    }

    /// Mounts of a directory inside and of one around: the grant is one of the same object.
    @Test func nestedDirectories() throws {
        try run(
            #"""
            mkdir "$T/inner" "$T/v"; "$A" mount "$T/back/Users" "$T/inner"; "$A" mount -o "${V%home=*}home=/ann" "$T/back/Users" "$T/v"
            inner() { cat "$T/v/$1" >/dev/null 2>&1; echo $?; }
            is 'added outside' '' "$(follow --read-only "$S/Letters")"; is 'inside' 0 "$(inner ann/Letters/one)"
            mv "$T/inner/ann/Letters" "$T/inner/ann/L"; is 'moved inside' 0 "$(inner ann/L/one)"; is 'seen outside' 0 "$(reads Users/ann/L/one)"
            mv "$S/L" "$T/mnt/L"; is 'out of it' 1 "$(inner ann/L/one)"; is 'outside' 0 "$(reads L/one)"
            mv "$T/mnt/L" "$T/mnt/Users/L"; is 'into it' 0 "$(inner L/one)"
            is 'added inside' '' "$(follow --read-only "$T/inner/ann/Other")"; is 'seen outside' 0 "$(reads Users/ann/Other/three)"
            mv "$S/Other" "$T/mnt/Users/O"; is 'both' '0 0' "$(inner O/three) $(reads Users/O/three)"
            umount "$T/v" "$T/inner"
            """#)
    }

    /// A program reads all the time while the folder moves back and forth and another takes its place: it never reads the other.
    @Test(arguments: ["auto", "exclusive", "strict"]) func noReaderSeesAnother(cache: String) throws {
        try run(
            "CACHE=cache=\(cache)\n" + #"""
                umount "$T/view" "$T/mnt"; "$A" mount -o "$CACHE" "$T/back" "$T/mnt"; "$A" mount -o "$V,$CACHE" "$T/back" "$T/view"
                is 'added' '' "$(follow --read-only "$S/Letters")"; mkdir "$S/bait"; echo secret >"$S/bait/one"
                python3 - "$T/view/Users/ann" "$T/stop" >"$T/read" <<'END' & reading=$!
                import os, sys
                seen = {}
                while not os.path.exists(sys.argv[2]):
                    for name in ("Letters", "Moved", "bait"):
                        try: text = open(f"{sys.argv[1]}/{name}/one").read().strip()
                        except OSError as error: text = os.strerror(error.errno)
                        seen[text] = seen.get(text, 0) + 1
                print(seen)
                END
                for i in $(seq 40); do
                    mv "$S/Letters" "$S/Moved"; mv "$S/bait" "$S/Letters"; mv "$S/Letters" "$S/bait"; mv "$S/Moved" "$S/Letters"
                done
                touch "$T/stop"; wait $reading; holds 'it read' "$(cat "$T/read")" "'text'"; is 'no other' 0 "$(grep -c secret "$T/read")"
                """#)
    }
}
