import Foundation
import TestSupport
import Testing

/// `aclfs sandbox run` on a mount that an ordinary user made: the daemon of this user serves the view.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRunUserTests {
    @Test(arguments: ["beside it", "over itself"]) func onesOwnMount(_ place: String) throws {
        let result = try SandboxRunScript.run(
            #"""
            command -v fusermount3 >/dev/null || { echo 'fusermount3 (package fuse3) is missing'; exit; }
            cp /etc/passwd "$T/passwd"; echo "ann:x:$ANN:$ANN::/nonexistent:/bin/sh" >>"$T/passwd"; mount --bind "$T/passwd" /etc/passwd
            mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
            unset XDG_RUNTIME_DIR; trap 'rm -rf "/tmp/aclfs-$ANN"; leave' EXIT
            [ 'PLACE' = 'beside it' ] || SHARE=$BACK
            echo treasure >"$BACK/secret"; chown "$ANN:$ANN" "$BACK/secret"
            ann "$A" mount "$BACK" "$SHARE" 2>/dev/null
            is mounted treasure "$(ann cat "$SHARE/secret" 2>&1)"
            P=$T/downloads.entitlements
            is 'refused' 'Operation not permitted' "$(run ann -- cat "$SHARE/secret" 2>&1 | sed 's/.*: //')"
            is 'in Downloads' text "$(run ann -- sh -c "echo text >$SHARE/home/Downloads/new; cat $SHARE/home/Downloads/new" 2>&1)"
            is 'the container' 'Documents Library tmp' "$(run ann -- sh -c 'ls $HOME | xargs' 2>&1)"
            is 'its code' 7 "$(run ann -- sh -c 'exit 7'; echo $?)"
            settle 1
            is 'nothing is left mounted' '' "$(grep "/tmp/aclfs-$ANN" /proc/self/mounts)"
            is 'nor lies there' '' "$(ls "/tmp/aclfs-$ANN" | grep view)"
            holds 'another user' "$("$A" sandbox run "$P" --mount "$SHARE" -- true 2>&1)" 'only that user'
            P=$T/closed.entitlements
            # Not even root opens anything on it.
            (exec "$ACT" $ANN $ANN - -- bash -c 'exec sleep 1005 9<"$1"' - "$SHARE") & outsider=$!; await '[ "$(cat /proc/$outsider/comm)" = sleep ]'
            words="$SHARE $BACK $SCRATCH $outsider $("$ESCAPE" handle "$BACK")"
            holds 'unconfined' "$(ann "$ESCAPE" plain $words)" "reached $SHARE/secret"
            ann rm -f "$SHARE/planted"
            for way in $("$ESCAPE" ways); do
                is "$way" kept "$(cd "$T" && run ann -- "$ESCAPE" $way $words 2>&1)"
            done
            is 'the share' treasure "$(ann cat "$SHARE/secret")"
            kill $outsider; wait 2>/dev/null; settle 1; ann fusermount3 -u -z "$SHARE"
            """#.replacing("PLACE", with: place))
        #expect(result.output == "done", "\(result)")
    }

    /// A mount of hers, and what keeps its grants out of reach: no command inside rewrites its own grants.
    @Test func theGrantsAreOutOfReach() throws {
        let result = try SandboxRunScript.run(
            #"""
            command -v fusermount3 >/dev/null || { echo 'fusermount3 (package fuse3) is missing'; exit; }
            cp /etc/passwd "$T/passwd"; echo "ann:x:$ANN:$ANN::/nonexistent:/bin/sh" >>"$T/passwd"; mount --bind "$T/passwd" /etc/passwd
            mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
            unset XDG_RUNTIME_DIR XDG_STATE_HOME; trap 'rm -rf "/tmp/aclfs-$ANN"; leave' EXIT
            mkdir "$T/hers" "$T/other" "$T/bound"; chown $ANN:$ANN "$T/hers" "$T/other"; export HOME=$T/hers
            mount --bind "$T/hers" "$T/bound"
            S=.local/state/aclfs/grants
            ann "$A" mount "$BACK" "$SHARE" 2>/dev/null
            # No grant is kept so far, and the command makes no place for one.
            run ann -- sh -c "mkdir -p $T/hers/$S; echo forged >$T/hers/$S/forged" >/dev/null 2>&1
            settle 1
            is 'nothing forged' no "$([ -e "$T/hers/$S/forged" ] && echo yes || echo no)"
            ann sh -c "echo kept >$T/hers/$S/file"
            is 'outside' kept "$(ann cat "$T/bound/$S/file")"
            # Where the daemon keeps them, and where this environment says.
            for home in "$T/hers" "$T/other"; do
                for place in hers bound other; do
                    is "list $place" '' "$(HOME=$home run ann -- ls -A "$T/$place/$S" 2>/dev/null)"
                    HOME=$home run ann -- sh -c "echo forged >$T/$place/$S/file; rm -rf $T/$place/$S" >/dev/null 2>&1
                    HOME=$home run ann -- sh -c "cd $T/$place/; mv .local/state .local/away; mv .local away" >/dev/null 2>&1
                    is "$place is where it was" "kept" "$(cat "$T/hers/$S/file")"
                done
            done
            is 'nor its own' '' "$(ls -A "$T/other/$S" | grep -v lock)"
            is 'other files' ok "$(run ann -- sh -c "echo ok >$T/hers/note; cat $T/bound/note" 2>&1)"
            holds 'a descriptor' "$(run ann -- true <"$T/hers/$S/file" 2>&1)" 'a file of the directory of grants'
            settle 1; ann fusermount3 -u -z "$SHARE"; await '[ -z "$(server)" ]'
            "$A" mount "$BACK" "$SHARE" 2>/dev/null
            run as_root -- sh -c 'mkdir -p /var/lib/aclfs/grants; echo forged >/var/lib/aclfs/grants/x; mv /var/lib/aclfs /var/lib/b' >/dev/null 2>&1
            is "root's" '' "$(ls -A /var/lib/aclfs/grants)"
            # Hers count in her own mounts, from a sandbox on root's share too.
            HOME=$T/hers run ann -- sh -c "echo forged >$T/hers/$S/file" >/dev/null 2>&1
            is 'on another share' kept "$(cat "$T/hers/$S/file")"
            settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A home that is a file or a link that leads nowhere holds no grants, and is covered nowhere as long as she cannot make it a directory.
    @Test func aHomeThatIsNone() throws {
        let result = try SandboxRunScript.run(
            #"""
            mkdir -p "$T/homes/hers/roots"; echo >"$T/homes/file"; ln -s "$T/homes/none" "$T/homes/link"; ln -s "$T/homes/hers/none" "$T/homes/led"
            ln -s "$T/homes/link/below" "$T/homes/twice"
            chown $ANN:$ANN "$T/homes/hers"; echo >"$T/homes/hers/file"; ln -s "$T/homes/none" "$T/homes/hers/link"
            cp /etc/passwd "$T/before"; : >"$T/passwd"; mount --bind "$T/passwd" /etc/passwd
            "$A" mount "$BACK" "$SHARE" 2>/dev/null
            for home in file link twice file/below missing hers/file hers/link hers/roots/missing led; do
                { cat "$T/before"; echo "ann:x:$ANN:$ANN::$T/homes/$home:/bin/sh"; } >/etc/passwd
                said=$(HOME=$T/homes/hers XDG_STATE_HOME= run ann -- echo ran 2>&1)
                case $home in
                    hers/*|led) holds "$home" "$said" 'the directory of grants' ;;
                    *) is "$home" ran "$said" ;;
                esac
                said=$(HOME=$T/homes/$home XDG_STATE_HOME= run ann -- echo ran 2>&1)
                case $home in
                    hers/*|led) holds "$home, by the environment" "$said" 'the directory of grants' ;;
                    *) is "$home, by the environment" ran "$said" ;;
                esac
            done
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A mount that admits only its user, not even root, need not be covered and delays no sandbox.
    @Test(arguments: ["ann", "as_root"]) func anotherUsersMountDelaysNoSandbox(_ who: String) throws {
        let result = try SandboxRunScript.run(
            #"""
            command -v fusermount3 >/dev/null || { echo 'fusermount3 (package fuse3) is missing'; exit; }
            EVE=$((ANN + 1)); eve() { XDG_RUNTIME_DIR=$T/evert HOME=$T/evert "$ACT" $EVE $EVE - -- "$@"; }
            cp /etc/passwd "$T/passwd"; echo "eve:x:$EVE:$EVE::/nonexistent:/bin/sh" >>"$T/passwd"; mount --bind "$T/passwd" /etc/passwd
            mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
            mkdir -m 700 "$T/evert"; mkdir "$T/evemnt" "$T/eveback"; chown $EVE:$EVE "$T/evert" "$T/evemnt" "$T/eveback"
            unset XDG_RUNTIME_DIR
            "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures
            eve "$A" mount "$T/eveback" "$T/evemnt" 2>/dev/null; echo hers >"$T/eveback/hers"; chmod 644 "$T/eveback/hers"
            is 'she sees it' hers "$(eve cat "$T/evemnt/hers" 2>&1)"
            is 'others do not' 2 "$(status ann ls "$T/evemnt" 2>/dev/null)"
            is 'it runs' ran "$(run WHO -- echo ran 2>&1)"
            is 'and is kept' kept "$(run WHO -- sh -c "cat $SHARE/secret || echo kept" 2>/dev/null)"
            holds 'hers is kept from them' "$(run WHO -- ls -A "$T/evemnt" 2>&1)" 'Permission denied'
            settle 1; eve fusermount3 -u -z "$T/evemnt"
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }
}
