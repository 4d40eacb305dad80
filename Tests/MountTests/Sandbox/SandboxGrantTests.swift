import TestSupport
import Testing

/// `aclfs sandbox grant`: what is granted counts at once on views that run and on later ones, and what is taken away
/// counts no more when the command returns.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxGrantTests {
    /// A store of its own, a share and a view of it; `reads PATH` and `writes PATH` say 0 where that works in the view.
    static let prelude =
        SandboxProfileTests.prelude + #"""
            mount -t tmpfs tmpfs /var/lib
            mkdir -p "$T/back/Users/ann/Letters/old" "$T/back/Users/ann/Other" "$T/view" "$T/view2"
            echo text >"$T/back/Users/ann/Letters/one"; echo text >"$T/back/Users/ann/Letters/old/two"
            echo text >"$T/back/Users/ann/Other/three"; echo text >"$T/back/alone"
            profile select files.user-selected.read-write '<true/>'
            V="sandbox=$T/select.entitlements,bundle=org.example.App,home=/Users/ann"
            grant() { "$A" sandbox grant "$@" 2>&1; }
            add() { grant add --bundle org.example.App "$@"; }
            remove() { grant remove --bundle org.example.App "$@"; }
            reads() { cat "$T/view/$1" >/dev/null 2>&1; echo $?; }
            writes() { (echo more >>"$T/view/$1") 2>/dev/null && echo 0 || echo 1; }

            """#

    @Test func atOnceAndNoMore() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                "$A" mount "$T/back" "$T/mnt"; "$A" mount -o "$V" "$T/back" "$T/view"
                is 'nothing yet' 1 "$(reads Users/ann/Letters/one)"
                is 'added' '' "$(add --read-only "$T/mnt/Users/ann/Letters")"
                is 'read' 0 "$(reads Users/ann/Letters/one)"; is 'all below' 0 "$(reads Users/ann/Letters/old/two)"
                is 'not written' 1 "$(writes Users/ann/Letters/one)"; is 'nothing else' 1 "$(reads Users/ann/Other/three)"
                # A later grant for the same place replaces it, in both directions.
                is 'wider' '' "$(add --read-write "$T/mnt/Users/ann/Letters")"; is 'written' 0 "$(writes Users/ann/Letters/one)"
                is 'narrower' '' "$(add --read-only "$T/mnt/Users/ann/Letters")"; is 'no more' 1 "$(writes Users/ann/Letters/one)"
                is 'one file' '' "$(add --read-write "$T/mnt/alone")"; is 'that file' 0 "$(writes alone)"
                holds 'listed' "$(grant list "$T/mnt")" "org.example.App  read-only   $T/mnt/Users/ann/Letters/"
                holds 'a file' "$(grant list "$T/mnt")" "org.example.App  read-write  $T/mnt/alone"
                is 'every mount once' 2 "$(grant list | grep -c "$T")"
                is 'of another' '' "$(grant list --bundle org.other.App "$T/mnt")"
                holds 'for programs' "$(grant list --json "$T/mnt")" \
                    "\"path\":\"$T/mnt/Users/ann/Letters\",\"bundle\":\"org.example.App\",\"directory\":true,\"access\":\"read-only\""
                # A view that begins now, and a daemon that begins anew.
                umount "$T/view"; "$A" mount -o "$V" "$T/back" "$T/view"; is 'a later view' 0 "$(reads Users/ann/Letters/one)"
                umount "$T/view" "$T/mnt"; "$A" mount -o "$V" "$T/back" "$T/view"
                is 'a later daemon' 0 "$(reads Users/ann/Letters/one)"
                # Through the view itself, which does not even show what is named.
                is 'through the view' '' "$(add --read-only "$T/view/Users/ann/Other/three")"
                is 'now shown' 0 "$(reads Users/ann/Other/three)"
                for place in Users/ann/Letters Users/ann/Other/three alone; do
                    is "remove $place" '' "$(remove "$T/view/$place")"
                done
                for place in Users/ann/Letters/one Users/ann/Other/three alone; do is "gone $place" 1 "$(reads "$place")"; done
                is 'nothing is kept' '' "$(ls -A /var/lib/aclfs/grants)"
                is 'twice' "aclfs: $T/view/alone: nothing is granted to org.example.App there" "$(remove "$T/view/alone")"
                "$A" mount "$T/back" "$T/mnt"; ln -s alone "$T/mnt/link"; grant add --bundle org.example.App --read-only "$T/mnt/link"; is 'by a link' '' "$(remove "$T/mnt/link")"
                is 'it was that' "aclfs: $T/mnt/alone: nothing is granted to org.example.App there" "$(remove "$T/mnt/alone")"; rm "$T/mnt/link"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A view whose listing a process reads into memory that never answers is told late; no other view waits for that.
    @Test func aSlowViewHoldsNoStore() throws {
        let result = try MountNamespace().run(
            Self.prelude + SlowReader.prelude + #"""
                "$A" mount -o "$V" "$T/back" "$T/view"
                is 'added' '' "$(add --read-only "$T/view/Users/ann/Letters")"; slow view/Users/ann/Letters
                remove "$T/view/Users/ann/Letters" >"$T/removed" 2>&1 & removing=$!
                for i in $(seq 1500); do [ -z "$(ls -A /var/lib/aclfs/grants)" ] && break; sleep 0.02; done
                is 'the store is written first' '' "$(ls -A /var/lib/aclfs/grants)"
                is 'and free' 0 "$(flock -n /var/lib/aclfs/grants true; echo $?)"
                is 'while the view is told' 0 "$(kill -0 $removing; echo $?)"
                wait $removing; holds 'which is said' "$(cat "$T/removed")" 'a program there has not read a directory listing to its end'
                go_on; is 'and counts all the same' 1 "$(reads Users/ann/Letters/one)"
                "$A" unmount "$T/view"; "$A" unmount "$T/slow"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A grant that is revoked counts no more on any view, before the command waits for one of them.
    @Test func slowViewsHoldUpNoOthers() throws {
        let result = try MountNamespace().run(
            Self.prelude + SlowReader.prelude + #"""
                mkdir "$T/view3" "$T/foreign"; F=${V/org.example.App/org.foreign.App}
                "$A" mount -o "$F" "$T/back" "$T/foreign"
                "$A" sandbox grant add --bundle org.foreign.App --read-only "$T/foreign/Users/ann/Letters"
                for view in view view2 view3; do "$A" mount -o "$V" "$T/back" "$T/$view"; done
                add --read-only "$T/view/Users/ann/Letters" "$T/view/alone"
                other() { cat "$T/view3/alone" >/dev/null 2>&1; echo $?; }
                is 'before' 0 "$(other)"; slow {foreign,view,view2}/Users/ann/Letters
                # Of another application no view is asked.
                is 'nobody waits' '' "$(grant add --bundle org.third.App --read-only "$T/view3/alone")"
                begun=$(date +%s%N); remove "$T/view3/alone" >"$T/removed" 2>&1 & removing=$!
                for i in $(seq 2000); do [ "$(other)" = 1 ] && break; sleep 0.01; done
                # Any of the slow ones alone takes five seconds.
                passed=$((($(date +%s%N) - begun) / 1000000))
                is 'before the first of the others' yes "$([ $passed -lt 5000 ] && echo yes || echo "after $passed ms")"
                is 'taken back' 1 "$(other)"; is 'while others wait' 0 "$(kill -0 $removing 2>/dev/null; echo $?)"
                is 'on the slow one too' 1 "$(reads alone)"
                # And nothing else waits with them: neither a change of another grant, nor a view that begins.
                is 'another grant' '' "$(grant remove --bundle org.third.App "$T/view3/alone")"
                mkdir "$T/view4"; is 'another view' 0 "$("$A" mount -o "$V" "$T/back" "$T/view4" 2>&1; echo $?)"
                wait $removing; is 'it failed' 2 $?
                holds 'which is said' "$(cat "$T/removed")" 'the mount on '
                holds 'of both' "$(cat "$T/removed")" ' (and 1 more) decides by the change, but its kernel still has older names cached'
                go_on; is 'again' 1 "$(other)"; is 'and again' 1 "$(reads alone)"
                is 'what was left' 0 "$(reads Users/ann/Letters/one)"
                for view in view view2 view3 view4 foreign slow; do "$A" unmount "$T/$view"; done
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatIsRefused() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                "$A" mount "$T/back" "$T/mnt"
                ln -s Letters "$T/back/Users/ann/link"; ln -s "$T/fstab" "$T/back/out"; mkfifo "$T/back/pipe"
                refused() { # STATUS PART WORD…
                    expected=$1 part=$2; shift 2
                    said=$("$@" 2>&1); is "$*" $expected $?; holds "$*" "$said" "$part"
                }
                refused 2 'No such file or directory' add --read-only "$T/mnt/none"
                refused 2 'not on an aclfs mount' add --read-only "$T/fstab"
                refused 2 'a symbolic link; give the path that it leads to' add --read-only "$T/mnt/out"
                refused 2 'neither a file nor a directory' add --read-only "$T/mnt/pipe"
                refused 2 'either --read-only or --read-write' add "$T/mnt/alone"
                refused 2 'either --read-only or --read-write' add --read-only --read-write "$T/mnt/alone"
                for bundle in a/b '*' 'a b' a..b .a a. '' ; do
                    refused 2 'expected a bundle identifier' grant add --bundle "$bundle" --read-only "$T/mnt/alone"
                done
                refused 2 'expected 30s, 30m, 12h, 7d' add --read-only --expires tomorrow "$T/mnt/alone"
                for time in 2001-01-01 -5m 0m -1d @-1 @0; do
                    refused 2 "--expires $time: that time has passed" add --read-only --expires $time "$T/mnt/alone"
                done
                refused 2 '--expires -x: expected 30s' add --read-only --expires -x "$T/mnt/alone"
                # All of them or none.
                refused 2 'none: No such file or directory' add --read-only "$T/mnt/alone" "$T/mnt/none"
                refused 2 "$T/mnt/pipe: neither a file nor a directory" add --read-only "$T/mnt/alone" "$T/mnt/pipe"
                refused 2 'nothing was granted' add --read-only "$T/mnt/alone" "$T/mnt/pipe"
                refused 2 'not on an aclfs mount; nothing was granted' add --read-only "$T/mnt/alone" "$T/fstab"
                refused 2 'Not a directory' add --read-only "$T/mnt/alone/"
                refused 2 'Not a directory' grant remove --bundle org.example.App "$T/mnt/alone/"
                is 'nothing is granted' '' "$(grant list)"
                # Who may not ask is told so, for each mount.
                refused 1 "$T/mnt: only root and the user who mounted may ask this" \
                    setpriv --reuid 61746 --regid 61746 --clear-groups "$A" sandbox grant list
                refused 0 '' add --read-only "$T/mnt/alone"
                refused 2 'only root and the user who mounted' setpriv --reuid 61746 --regid 61746 --clear-groups \
                    "$A" sandbox grant add --bundle a.b --read-only "$T/mnt/alone"
                refused 2 'another user namespace' unshare -r "$A" sandbox grant add --bundle a.b --read-only "$T/mnt/alone"
                refused 2 'another user namespace' unshare -r "$A" sandbox grant remove --bundle org.example.App "$T/mnt/alone"
                refused 0 '' remove "$T/mnt/alone"
                # What a link leads to is granted.
                refused 0 '' add --read-only "$T/mnt/Users/ann/link"
                holds 'the place' "$(grant list "$T/mnt")" "$T/mnt/Users/ann/Letters/"
                # The grant of a removed directory can be revoked all the same.
                rm -r "$T/back/Users"; refused 0 '' remove "$T/mnt/Users/ann/Letters"
                # A profile may let less pass than was granted.
                profile reader files.user-selected.read-only '<true/>'; profile none
                "$A" mount -o "sandbox=$T/reader.entitlements,bundle=org.example.App" "$T/back" "$T/view"
                "$A" mount -o "sandbox=$T/none.entitlements,bundle=org.example.App" "$T/back" "$T/view2"
                said=$(add --read-write "$T/mnt/alone")
                holds 'said' "$said" "the mount on $T/view has profile $T/reader.entitlements, which allows grants for reading only"
                holds 'and' "$said" "the mount on $T/view2 has profile $T/none.entitlements, which allows no grants"
                is 'read' 0 "$(reads alone)"; is 'not written' 1 "$(writes alone)"
                is 'nothing here' 1 "$(cat "$T/view2/alone" >/dev/null 2>&1; echo $?)"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func theyEnd() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                "$A" mount "$T/back" "$T/mnt"; "$A" mount -o "$V" "$T/back" "$T/view"
                add --read-only --expires 2s "$T/mnt/alone"; is 'for now' 0 "$(reads alone)"
                holds 'until' "$(grant list "$T/mnt")" 'until 20'
                for i in $(seq 500); do [ "$(reads alone)" = 1 ] && break; sleep 0.1; done
                is 'it has ended' 1 "$(reads alone)"
                holds 'and says so' "$(grant list "$T/mnt")" 'ended 20'
                # How a time is written.
                while read -r text shown; do
                    is "$text" '' "$(TZ=XXX-2 add --read-only --expires "${text/_/ }" "$T/mnt/alone")"
                    holds "$text" "$(grant list "$T/mnt")" "until $shown"
                done <<'EOF'
                2099-12-31_18:00 2099-12-31T16:00:00Z
                2099-12-31_18:00:07 2099-12-31T16:00:07Z
                2099-12-31T18:00:00Z 2099-12-31T18:00:00Z
                2099-12-31 2099-12-30T22:00:00Z
                @4102444800 2100-01-01T00:00:00Z
                52000w 3
                EOF
                for text in 2099-02-30 2099-13-01 '2099-12-31 25:00' '2099-12-31 10:60' 12 0m -1h 1y @-1 @x '' 99-1-1; do
                    said=$(add --read-only "--expires=$text" "$T/mnt/alone"); is "<$text>" 2 $?
                done
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func directoriesInsideOneAnother() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                mkdir "$T/inner"
                I="sandbox=$T/select.entitlements,bundle=org.example.App"
                "$A" mount "$T/back" "$T/mnt"; "$A" mount "$T/back/Users/ann" "$T/inner"
                "$A" mount -o "$V" "$T/back" "$T/view"; "$A" mount -o "$I" "$T/back/Users/ann" "$T/view2"
                inner() { cat "$T/view2/$1" >/dev/null 2>&1; echo $?; }
                # Given in the outer one, it counts in the inner one, and the other way round.
                add --read-only "$T/mnt/Users/ann/Letters"; is 'outer to inner' 0 "$(inner Letters/one)"
                add --read-only "$T/inner/Other"; is 'inner to outer' 0 "$(reads Users/ann/Other/three)"
                holds 'by its name there' "$(grant list "$T/inner")" "$T/inner/Letters/"
                holds 'and there' "$(grant list "$T/mnt")" "$T/mnt/Users/ann/Other/"
                remove "$T/inner/Letters"; is 'outer' 1 "$(reads Users/ann/Letters/one)"; is 'inner' 1 "$(inner Letters/one)"
                remove "$T/mnt/Users/ann/Other"; is 'outer again' 1 "$(reads Users/ann/Other/three)"; is 'inner again' 1 "$(inner Other/three)"
                # One that reaches further than the inner one is not taken away there.
                add --read-only "$T/mnt/Users"; is 'all of it' 0 "$(inner Other/three)"
                holds 'refused' "$(remove "$T/inner")" "includes directories outside of this mount; remove it through a mount of $T/back"
                # Without the outer mount it still counts.
                umount "$T/view2" "$T/inner" "$T/view" "$T/mnt"; "$A" mount -o "$I" "$T/back/Users/ann" "$T/view2"
                is 'alone' 0 "$(inner Other/three)"; umount "$T/view2"
                # Another directory in its place is another directory.
                mv "$T/back" "$T/was"; mkdir -p "$T/back/Users/ann/Other"; echo x >"$T/back/Users/ann/Other/three"; chmod 700 "$T/back"
                "$A" mount -o "$V" "$T/back" "$T/view"; is 'another directory' 1 "$(reads Users/ann/Other/three)"; umount "$T/view"
                "$A" mount -o "$V" "$T/was" "$T/view"; is 'the same elsewhere' 0 "$(reads Users/ann/Other/three)"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func manyAtATime() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                "$A" mount "$T/back" "$T/mnt"; "$A" mount -o "$V" "$T/back" "$T/view"
                long=$(printf 'x%.0s' $(seq 240)); mkdir "$T/back/many"; for i in $(seq 60); do : >"$T/back/many/$long$i"; done
                is 'added' '' "$(add --read-only "$T"/mnt/many/*)"
                is 'in several answers' 60 "$(grant list "$T/mnt" | grep -c "$long")"
                is 'for programs' 60 "$(grant list --json "$T/mnt" | grep -o '"path":' | wc -l)"
                is 'seen' 60 "$(cd "$T/view/many" 2>/dev/null; for i in $(seq 60); do cat "$T/view/many/$long$i" && echo ok; done | grep -c ok)"
                is 'all of them' '' "$(remove --below "$T/mnt/many")"; is 'none' '' "$(grant list "$T/mnt")"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatIsDamagedCountsForNothing() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                "$A" mount "$T/back" "$T/mnt"; add --read-only "$T/mnt/alone"; umount "$T/mnt"
                file=$(ls /var/lib/aclfs/grants/*.grants); is 'root alone' 600 "$(stat -c %a "$file")"
                is 'and the directory' 700 "$(stat -c %a /var/lib/aclfs/grants)"
                cp "$file" "$T/kept"; sed -i 's/read-only/read-write/' "$file"
                "$A" mount -o "$V" "$T/back" "$T/view"
                is 'nothing counts' 1 "$(reads alone)"
                holds 'said' "$(grant list "$T/view")" "grants in $file are ignored: its checksum does not fit"
                "$A" mount -o "$V" "$T/back" "$T/view2"
                is 'said once' 1 "$("$A" sandbox grant list 2>&1 >/dev/null | grep -c 'does not fit')"
                is 'and by the status' 1 "$(status "$A" sandbox grant list)"; umount "$T/view2"
                holds 'nothing is put on top' "$(add --read-only "$T/view/alone")" 'move the file away and grant again'
                echo '{"v":3}' >"$file"; holds 'of a later version' "$(grant list "$T/view")" 'it is of version 3, and this aclfs knows 2'
                umount "$T/view"; cat "$T/kept" >"$file"; "$A" mount -o "$V" "$T/back" "$T/view"; is 'whole again' 0 "$(reads alone)"
                # A place where others may write is no place.
                umount "$T/view"; chmod 777 /var/lib/aclfs/grants; "$A" mount -o "$V" "$T/back" "$T/view"
                is 'open to others' 1 "$(reads alone)"
                holds 'why' "$(add --read-only "$T/view/alone")" 'other users may write to it'
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func aFullDiskPreventsNoRevocation() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                umount /var/lib; mount -t tmpfs -o size=64k tmpfs /var/lib
                "$A" mount -o "$V" "$T/back" "$T/view"
                add --read-only "$T/view/alone" "$T/view/Users/ann/Other/three"
                cat /dev/zero >/var/lib/fill 2>/dev/null
                said=$(add --read-only "$T/view/Users/ann/Letters"); is 'no room' 2 $?
                holds 'said' "$said" 'cannot store grants in /var/lib/aclfs/grants: No space left on device'
                is 'it does not count' 1 "$(reads Users/ann/Letters/one)"
                is 'taken back' '' "$(remove "$T/view/alone")"; is 'it is' 1 "$(reads alone)"
                umount "$T/view"; "$A" mount -o "$V" "$T/back" "$T/view"
                is 'it stays' 1 "$(reads alone)"; is 'the other' 0 "$(reads Users/ann/Other/three)"
                is 'the last' '' "$(remove "$T/view/Users/ann/Other/three")"
                is 'no leavings' '' "$(ls -A /var/lib/aclfs/grants)"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The store lies in the tree that is shown, as for a user who shares the home.
    @Test func whatDecidesIsOutOfReach() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                profile all temporary-exception.files.absolute-path.read-write '<array><string>/</string></array>'
                "$A" mount -o "sandbox=$T/all.entitlements,bundle=org.example.App" /var/lib "$T/view" 2>/dev/null
                echo x >"$T/view/free" && is 'all else' x "$(cat /var/lib/free)"
                is 'not yet there' 1 "$(mkdir "$T/view/aclfs" 2>/dev/null; mkdir "$T/view/aclfs/grants" 2>/dev/null; echo $?)"
                add --read-only "$T/view/free" >/dev/null
                is 'seen by root' 1 "$(ls /var/lib/aclfs/grants | wc -l)"
                for try in 'ls aclfs/grants' 'cat aclfs/grants/*' 'touch aclfs/grants/x' 'mv aclfs other' 'rm -r aclfs'; do
                    is "$try" refused "$(cd "$T/view" && eval "$try" >/dev/null 2>&1 && echo done || echo refused)"
                done
                is 'as it was' 1 "$(ls /var/lib/aclfs/grants | wc -l)"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The store is seen below the source by bind mounts: as a part of more, whole, and one list of it.
    @Test func whatDecidesIsOutOfReachThroughBindMountsToo() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                profile all temporary-exception.files.absolute-path.read-write '<array><string>/</string></array>'
                "$A" mount "$T/back" "$T/mnt"; add --read-only "$T/mnt/Users/ann/Letters" >/dev/null; umount "$T/mnt"
                list=$(ls /var/lib/aclfs/grants); state() { stat -c '%n %i %Z %s' /var/lib/aclfs/grants /var/lib/aclfs/grants/*; }
                mkdir "$T/back/lib" "$T/back/part" "$T/back/store"; touch "$T/back/one"
                mount --bind /var/lib "$T/back/lib"; mount --bind /var/lib/aclfs "$T/back/part"
                mount --bind /var/lib/aclfs/grants "$T/back/store"; mount --bind "/var/lib/aclfs/grants/$list" "$T/back/one"
                "$A" mount "$T/back" "$T/mnt"; is 'unconfined' "$list" "$(ls "$T/mnt/store")"
                "$A" mount -o "sandbox=$T/all.entitlements,bundle=org.example.App" "$T/back" "$T/view" 2>/dev/null
                echo x >"$T/view/lib/free" && is 'all else' x "$(cat /var/lib/free)"
                before=$(state); cd "$T/view"
                for try in 'ls lib/aclfs/grants' 'ls part/grants' 'ls store' "cat lib/aclfs/grants/$list" "cat store/$list" 'cat one' \
                    'echo >>one' 'touch store/x' 'touch lib/aclfs/grants/x' 'mv lib/aclfs lib/other' 'mv part/grants part/other' \
                    'rm -r lib/aclfs' "rm store/$list" 'chmod 777 store' 'ln one linked' 'ln lib/aclfs/grants/* lib/linked'; do
                    is "$try" refused "$(eval "$try" >/dev/null 2>&1 && echo done || echo refused)"
                done
                cd "$T"; is 'as it was' "$before" "$(state)"
                is 'and counts' 0 "$(status cat "$T/view/Users/ann/Letters/one")"
                umount "$T/view" "$T/mnt"; umount -l "$T/back/lib" "$T/back/part" "$T/back/store" "$T/back/one"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func anOrdinaryUserKeepsOwnGrants() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                command -v fusermount3 >/dev/null || { echo 'fusermount3 (package fuse3) is missing'; exit; }
                cp "$A" "${A}d" "$T/bin"; A=$T/bin/aclfs
                cp /etc/passwd "$T/passwd"; echo 'zed:x:61746:61746::/nonexistent:/bin/sh' >>"$T/passwd"
                mount --bind "$T/passwd" /etc/passwd
                mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
                mkdir "$T/home" "$T/v"; mv "$T/back" "$T/home/back"; chown -R 61746:61746 "$T/home" "$T/v"
                as() { setpriv --reuid 61746 --regid 61746 --clear-groups env -u XDG_STATE_HOME -u XDG_RUNTIME_DIR HOME="$T/home" "$@"; }
                said=$(as "$A" mount -o "$V" "$T/home/back" "$T/v" 2>&1); is "mounted: $said" 1 "$(mounted "$T/v")"
                is 'added' '' "$(as "$A" sandbox grant add --bundle org.example.App --read-only "$T/v/alone" 2>&1)"
                is 'read' text "$(as cat "$T/v/alone" 2>&1)"
                is 'kept' 1 "$(ls "$T/home/.local/state/aclfs/grants" | wc -l)"
                is 'removed' '' "$(as "$A" sandbox grant remove --bundle org.example.App "$T/v/alone" 2>&1)"
                is 'gone' 1 "$(as cat "$T/v/alone" >/dev/null 2>&1; echo $?)"
                as fusermount3 -u "$T/v"
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
