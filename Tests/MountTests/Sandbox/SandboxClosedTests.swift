import Foundation
import TestSupport
import Testing

/// What a first command closes, or root's server does not show for a moment: a second sandbox must not do without a cover of it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxClosedTests {
    private func run(_ script: String) throws {
        let result = try SandboxRunScript.run(
            SandboxSocketTests.users + #"""
                "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1

                """# + script)
        #expect(result.output == "done", "\(result)")
    }

    /// Her own directory above grants or sockets: inside she could open it again, behind another share that shows it.
    @Test(arguments: ["local", "local/state", "local/state/aclfs", "runtime", "runtime/aclfs"])
    func whatTheCallerClosedAboveWhatIsKeptIsNamed(_ closed: String) throws {
        try run(
            #"""
            H=$T/homes/ann; mkdir -p "$H" "$T/exported"; chown $ANN:$ANN "$H"; export XDG_STATE_HOME=$H/local/state XDG_RUNTIME_DIR=$H/runtime
            ann mkdir -p "$XDG_STATE_HOME/aclfs/grants" "$H/runtime"; echo kept | ann tee "$XDG_STATE_HOME/aclfs/grants/x" >/dev/null
            "$A" mount "$T/homes" "$T/exported" 2>/dev/null
            is 'it runs' ran "$(run ann -- chmod 000 "$H/CLOSED" 2>/dev/null; chmod 755 "$H/CLOSED"; run ann -- echo ran 2>/dev/null)"
            D=$H/runtime/aclfs; is 'there' 1 "$(stat -c %n "$D" | wc -l)"
            for mode in 000 600; do
                chmod $mode "$H/CLOSED"
                said=$(run ann -- sh -c "chmod 700 $T/exported/ann/CLOSED; echo forged >$T/exported/ann/local/state/aclfs/grants/y" 2>&1); is "$mode" 2 $?
                holds "$mode" "$said" "$H/CLOSED"; holds "$mode: what to do" "$said" '(chmod'
            done
            chmod 700 "$H/CLOSED"; is 'it runs again' ran "$(run ann -- sh -c "echo forged >$T/exported/ann/local/state/aclfs/grants/y; echo ran" 2>/dev/null)"
            is 'nothing is forged' x "$(ls "$H/local/state/aclfs/grants" | grep -v lock)"; settle 1; "$A" unmount "$T/exported"
            """#.replacing("CLOSED", with: closed))
    }

    /// One's own directory of sockets that others may write to, or that does not show what lies in it: daemons of one's own may be there.
    @Test(arguments: ["300", "777"]) func socketsThatAreNotReadAreNamed(_ mode: String) throws {
        try run(
            #"""
            mkdir "$T/hers"; chown $ANN:$ANN "$T/hers"; ann mkdir "$SCRATCH/behind"
            unshare -m "$ACT" $ANN $ANN - -- "$A" mount "$SCRATCH/behind" "$T/hers" 2>/dev/null; other=$(daemon "$T/hers")
            is 'it is served' 1 "$(echo "$other" | wc -w)"
            chmod MODE "$D"; said=$(run ann -- echo ran 2>&1); is "status: $said" 2 $?; holds 'which' "$said" "$D, where control sockets"
            chmod 700 "$D"; is 'it runs' ran "$(run ann -- echo ran 2>/dev/null)"; settle 1; kill $other
            """#.replacing("MODE", with: mode))
    }

    /// The user that foreign owners look like in a namespace.
    @Test func aClosedDirectoryOfAnotherUserIsNotOfTheOverflowUser() throws {
        try run(
            #"""
            N=$(cat /proc/sys/kernel/overflowuid); nobody() { "$ACT" $N $N - -- "$@"; }; export XDG_RUNTIME_DIR=$T/runtime XDG_STATE_HOME=$T/state
            mkdir -p "$T/roots/one" "$T/his/one" "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME"; chown $N:$N "$T/his" "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME"
            chmod 700 "$T/roots" "$T/his"
            mount --bind "$BACK" "$T/roots/one"; echo treasure >"$BACK/secret"
            is 'it runs' ran "$(run nobody -- sh -c "cat $T/roots/one/secret; echo ran" 2>/dev/null)"
            is 'devices' 'zero autofs' "$(run nobody -- sh -c 'cd /dev; ls -d zero autofs' 2>/dev/null | sort -r | xargs)"
            mount --bind "$BACK" "$T/his/one"; is 'covered' ran "$(run nobody -- sh -c "cat $T/his/one/secret; echo ran" 2>/dev/null)"
            # With a group that is the sandbox's own it keeps nothing from being covered.
            chgrp 12345 "$T/his"; chmod 000 "$T/his"; holds 'his own' "$(run nobody -- sh -c "chmod 700 $T/his; cat $T/his/one/secret" 2>&1)" "$T/his, which you own and cannot search"
            settle 1; umount "$T/his/one" "$T/roots/one"; rmdir "/tmp/aclfs-$N" 2>/dev/null
            """#)
    }

    /// By root's server: dead ones say so for ever, others for a moment.
    @Test(arguments: ["ann", "as_root"], MountTesting.isLong ? ["107", "116", "5", "112"] : ["107"]) func whatSaysThatItIsDeadIsCovered(
        _ who: String, _ error: String
    ) throws {
        try run(
            Self.moody
                + #"""
                what="$BACK $SHARE"; [ WHO = as_root ] || what="$what /proc"; echo treasure >"$BACK/secret"; chmod 644 "$BACK/secret"
                for shown in $what; do
                    (ulimit -n 4096; exec python3 "$T/moody" "$T/fs" "$T/dead" ERROR) & serving=$!; await '[ -d "$T/fs/sub" ]'
                    mount --bind "$shown" "$T/fs/sub"; is "$shown: outside" 0 "$(status test -e "$T/fs/sub/.")"
                    touch "$T/dead"; is "$shown: dead" 1 "$(status stat "$T/fs/sub")"; grep -q " $T/fs/sub " /proc/self/mounts || echo 'it fell'
                    run WHO -- sh -c "touch $SCRATCH/ready; while [ ! -e $SCRATCH/go ]; do sleep 0.1; done; cat $T/fs/sub/secret $T/fs/sub/1/comm; ls $T/fs" >"$T/said" 2>"$T/why" & running=$!
                    await '[ -e $SCRATCH/ready ] || [ -s "$T/why" ]'; rm "$T/dead"; touch "$SCRATCH/go"; wait $running
                    is "$shown: not seen" '' "$(grep -v '^sub$' "$T/said")"; is "$shown: it ran" ready "$(ls "$SCRATCH" | grep ready)"
                    holds "$shown: alive" "$(ls "$T/fs/sub")" "$(ls "$shown" | head -1)"
                    rm -f "$SCRATCH/ready" "$SCRATCH/go"; settle 1; umount "$T/fs/sub"; umount "$T/fs"; wait $serving
                done
                """#.replacing("WHO", with: who).replacing("ERROR", with: error))
    }

    /// `moody PLACE FILE ERROR [OPTIONS [USER]]`: a file system of one directory, `sub`, in which is another, whose server tells no
    /// attributes but an error while there is a file.
    static let moody = #"""
        command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
        mkdir "$T/fs"
        cat >"$T/moody" <<'EOF'
        import ctypes, os, struct, sys
        place, flag, failure = sys.argv[1], sys.argv[2], int(sys.argv[3])
        device = os.open('/dev/fuse', os.O_RDWR)
        libc = ctypes.CDLL(None, use_errno=True)
        options = sys.argv[4] if len(sys.argv) > 4 else ',allow_other'
        user = int(sys.argv[5]) if len(sys.argv) > 5 else 0
        data = f'fd={device},rootmode=40000,user_id={user},group_id={user},default_permissions{options}'
        if libc.mount(b'moody', place.encode(), b'fuse', 0, data.encode()): raise OSError(ctypes.get_errno(), 'mount')
        def attributes(node): return struct.pack('<QQQQQQIIIIIIIIII', node, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, user, user, 0, 4096, 0)
        while True:
            try: request = os.read(device, 1 << 20)
            except OSError: break
            code, unique, node = struct.unpack_from('<IQQ', request, 4)
            error, answer = 0, b''
            if code == 26: answer = struct.pack('<IIIIHHIII', 7, 31, 0, 0, 0, 0, 4096, 0, 0) + bytes(32)
            elif code in (2, 36, 42): continue
            # The kernel drops a mount whose name is not found when it looks it up anew; it asks for attributes before each look-up.
            elif code == 3 and os.path.exists(flag): error = -failure
            elif code == 1 and os.path.exists(os.path.dirname(flag) + '/moved'): error = -2
            elif code == 1 and node < 3 and request[40:44] == b'sub\0': answer = struct.pack('<QQQQII', node + 1, 0, int(os.environ.get('VALID', '1000')), 0, 0, 0) + attributes(node + 1)
            elif code == 1: error = -2
            elif code == 3: answer = struct.pack('<QII', 0, 0, 0) + attributes(node)
            elif code == 27: answer = bytes(16)
            elif code == 28: answer = b'' if struct.unpack_from('<Q', request, 48)[0] else struct.pack('<QQII', 2, 1, 3, 4) + b'sub' + bytes(5)
            elif code != 29: error = -38
            os.write(device, struct.pack('<IiQ', 16 + len(answer), error, unique) + answer)
        EOF

        """#
}
