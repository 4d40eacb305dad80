import Foundation
import TestSupport
import Testing

/// Another user's program that poses as the daemon of its mounts: it says what it likes, as late as it likes, or hands over
/// what cannot be closed.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxLyingDaemonTests {
    /// `lie MODE COUNT [OPTIONS]` until `truth`: so many mounts, whose sockets answer in one way. Of the file that it hands over
    /// every close(2) waits for an answer that does not come.
    private static let liar = #"""
        command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
        cat >"$T/liar" <<'EOF'
        import ctypes, json, os, socket, struct, sys, threading, time
        mode, count, top, uid, options = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
        libc = ctypes.CDLL(None, use_errno=True)
        def mount(at, kind, root, more):
            device = os.open('/dev/fuse', os.O_RDWR)
            data = f'fd={device},rootmode={root},user_id={uid},group_id={uid}{more}'
            if libc.mount(b'liar', at.encode(), kind, 0, data.encode()): raise OSError(ctypes.get_errno(), 'mount')
            return device
        def serve(device):
            while True:
                try: request = os.read(device, 1 << 20)
                except OSError: return
                length, code, unique, node, user, group, pid = struct.unpack_from('<IIQQIII', request)
                error, answer = 0, b''
                if code == 26: answer = struct.pack('<IIIIHHIII', 7, 31, 0, 0, 0, 0, 4096, 0, 0) + bytes(32)
                elif code == 3: answer = struct.pack('<QII', 1000, 0, 0) + struct.pack('<QQQQQQIIIIIIIIII', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o100666, 1, uid, uid, 0, 0, 0)
                elif code == 14: answer = struct.pack('<QII', 1, 0, 0)
                elif code in (2, 36, 42): continue
                elif code == 25:
                    if pid != os.getpid(): continue
                elif code != 18: error = -38
                os.write(device, struct.pack('<IiQ', 16 + len(answer), error, unique) + answer)
        def hanging():
            at = top + '/file'; open(at, 'w').close()
            threading.Thread(target=serve, args=(mount(at, b'fuse', '100000', ',allow_other'),), daemon=True).start()
            return os.open(at, os.O_RDONLY)
        os.makedirs(top, exist_ok=True); os.chmod(top, 0o755)
        handed = hanging() if mode in ('hands', 'sends') else -1
        if mode == 'sends':
            os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
            for i in range(9):
                client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); client.connect(options); client.settimeout(2)
                try: socket.send_fds(client, [b'{"v":1,"command":"version"}'], [handed]); client.recv(65536)
                except OSError: pass
            print('ready', flush=True); time.sleep(1000)
        def grants(part, total, problem): return json.dumps({'v': 1, 'ok': True, 'result': {'grants': part, 'total': total, 'tree': 'x', 'problems': problem}}).encode()
        bad = '\x1b[31mall is well\x07'
        answers = {
            'busy': b'{"v":1,"ok":false,"error":"EAGAIN","message":"x"}', 'hands': b'{"v":1,"ok":true,"result":{"shows":false}}',
            'earlier': b'{"v":1,"ok":true,"result":{"shows":false}}', 'knows': b'{"v":1,"ok":true,"result":{"shows":false,"stores":false,"controls":false}}',
            'endless': grants([{}], 9 << 50, []), 'problem': grants([], 0, [bad]), 'refuses': json.dumps({'v': 1, 'ok': False, 'error': 'EPERM', 'message': bad}).encode()}
        def answer(client):
            while client.recv(65536):
                if mode == 'silent': time.sleep(1000)
                if mode == 'closes': break
                if mode == 'busy': time.sleep(1.9)
                if handed >= 0: socket.send_fds(client, [answers[mode]], [handed])
                else: client.send(answers[mode])
            client.close()
        def listen(listener):
            while True: threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
        place = f'/tmp/aclfs-{uid}'; os.makedirs(place, exist_ok=True); os.chmod(place, 0o755); os.chown(place, uid, uid)
        devices = []
        for i in range(count):
            at = f'{top}/m{i}'; os.makedirs(at); mount(at, b'fuse.aclfs', '40000', options)
            for line in open('/proc/self/mountinfo'):
                if line.split()[4] == at: devices.append(line.split()[2])
        # The kernel reports the user that listened at that time.
        os.setresgid(uid, uid, 0); os.setresuid(uid, uid, 0)
        for device in devices:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); listener.bind(f'{place}/{device.replace(":", "-")}.sock')
            os.chmod(listener.getsockname(), 0o666); listener.listen(64)
            threading.Thread(target=listen, args=(listener,), daemon=True).start()
        print('ready', flush=True); time.sleep(1000)
        EOF
        lie() { python3 "$T/liar" "$1" "$2" "$T/his" $ZED "${3:-}" >"$T/lies" 2>&1 & liar=$!; disown $liar; await 'grep -q ready "$T/lies"'; }
        truth() {
            kill -9 $liar
            # By force: its own end waits for its answers, too.
            awk '$3 ~ /^fuse/ { print $2 }' /proc/self/mounts | grep "^$T/his/" | while read -r m; do umount -f "$m" 2>/dev/null; umount -l "$m" 2>/dev/null; done
            await '! [ -d /proc/$liar ]'; rm -rf "$T/his" "$Z"
        }
        # within SECONDS COMMAND… : what it says is in said, and its status in over.
        within() {
            local most=$1 start=$(date +%s%N); shift; rm -f "$T/over"
            ("$@" >"$T/said" 2>&1; echo $? >"$T/over") & await '[ -s "$T/over" ]'
            [ -s "$T/over" ] || echo "$* hangs"
            local passed=$((($(date +%s%N) - start) / 1000000)); [ $passed -lt $((most * 1000)) ] || echo "$*: $passed ms"
        }
        "$A" mount "$BACK" "$SHARE" >/dev/null 2>&1

        """#

    private func run(_ script: String) throws {
        let result = try SandboxRunScript.run(SandboxSocketTests.users + Self.liar + script)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatItHandsOverIsNotTaken() throws {
        try run(
            #"""
            lie hands 1 ,allow_other
            within 10 "$A" sandbox list
            within 10 "$A" status
            within 10 run as_root -- echo ran; is 'root runs' ran "$(tail -n 1 "$T/said")"
            within 10 run ann -- echo ran; is 'ann runs' ran "$(tail -n 1 "$T/said")"
            truth; settle 1
            """#)
    }

    /// One of an earlier version has looked for the share alone, and not for what is kept.
    @Test(arguments: [("earlier", 2), ("knows", 1)]) func whoDoesNotSayNoToAllIsCovered(_ mode: String, _ mounts: Int) throws {
        try run(
            #"""
            lie MODE 1 ,allow_other
            within 10 run as_root -- grep -c " $T/his/m0 " /proc/self/mountinfo; is 'with its cover' MOUNTS "$(tail -n 1 "$T/said")"
            truth; settle 1
            """#.replacing("MODE", with: mode).replacing("MOUNTS", with: "\(mounts)"))
    }

    /// Neither is a daemon's thread held, nor the daemon when its mount ends.
    @Test func whatItSendsADaemonIsNotTaken() throws {
        try run(
            #"""
            socket=/run/aclfs/$(awk -v at="$SHARE" '$5 == at { print $3 }' /proc/self/mountinfo | tr : -).sock; server=$(server)
            lie sends 0 "$socket"
            is 'no thread waits' '' "$(cat /proc/$server/task/*/wchan 2>/dev/null | tr '\0' '\n' | grep -a 'flush\|request_wait')"
            within 10 zed "$A" explain stat "$SHARE"; is 'others are heard' 0 "$(cat "$T/over")"
            within 10 "$A" unmount "$SHARE"; await "! [ -d /proc/$server ]"
            truth
            """#)
    }

    /// However many mounts there are, and whatever is said to buy time.
    @Test(arguments: MountTesting.isLong ? ["silent", "busy", "closes"] : ["silent"], ["", ",allow_other"]) func itDelaysNoCaller(
        _ mode: String, _ options: String
    ) throws {
        try run(
            #"""
            lie MODE 4 OPTIONS
            for words in 'sandbox list' 'sandbox grant list' status; do
                within 6 "$A" $words; within 3 ann "$A" $words
            done
            within 6 "$A" sandbox list; holds 'named' "$(cat "$T/said")" "$T/his/m3: "; is 'and its status' 1 "$(cat "$T/over")"
            within 3 ann "$A" sandbox list; is 'whom she may not ask' 0 "$(cat "$T/over")"
            within 6 "$A" sandbox grant list; holds 'each is named' "$(cat "$T/said")" "$T/his/m3: "; is 'its status' 1 "$(cat "$T/over")"
            within 10 run as_root -- echo ran; is 'root runs' ran "$(tail -n 1 "$T/said")"
            within 10 run ann -- echo ran; is 'ann runs' ran "$(tail -n 1 "$T/said")"
            truth; settle 1
            """#.replacing("MODE", with: mode).replacing("OPTIONS", with: options))
    }

    /// Nor does what it says keep others' grants from being listed, or reach the terminal.
    @Test(arguments: ["endless", "problem", "refuses"]) func whatItSaysActsOnNothing(_ mode: String) throws {
        try run(
            #"""
            "$A" sandbox grant add --bundle org.example.App --read-only "$SHARE/sub"
            lie MODE 1
            within 10 "$A" sandbox grant list; is 'its status' 1 "$(cat "$T/over")"
            holds 'the others' "$(cat "$T/said")" "org.example.App  read-only  $SHARE/sub/"
            within 10 "$A" status
            within 10 "$A" sandbox grant list; is 'no control characters' '' "$(tr -cd '\000-\011\013-\037' <"$T/said")"
            truth
            """#.replacing("MODE", with: mode))
    }
}
