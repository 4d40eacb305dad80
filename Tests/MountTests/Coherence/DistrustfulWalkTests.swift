import TestSupport
import Testing

/// Behind an ESTALE of any file system on its way a walk is repeated, and trusts nothing (LOOKUP_REVAL): the kernel then asks
/// without a lock for names that it believes, and could use a late answer after they were taken back. Anybody can have that,
/// with a file system of his own. Such a question is not answered with a time (docs/internals/coherence.md "A walk that trusts nothing").
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DistrustfulWalkTests {
    /// A file system that answers ESTALE to everything.
    private static let stale = #"""
        import ctypes, os, struct, sys
        device = os.open("/dev/fuse", os.O_RDWR)
        options = b"fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other" % device
        if ctypes.CDLL(None).mount(b"stale", sys.argv[1].encode(), b"fuse", 0, options): sys.exit("mount")
        print("ready", flush=True)
        while True:
            try: request = os.read(device, 1 << 18)
            except OSError: sys.exit()
            opcode, unique = struct.unpack_from("<4xIQ", request)
            body = struct.pack("<IIIIHHIIHHII6I", 7, 31, 65536, 0, 16, 12, 65536, 1, 32, 0, 0, 0, *[0] * 6) if opcode == 26 else b""
            if opcode not in (2, 42): os.write(device, struct.pack("<IiQ", 16 + len(body), 0 if body else -116, unique) + body)
        """#

    @Test func aNameThatIsBelievedHasNoTimeAgain() throws {
        let result = try MountNamespace().run(
            #"""
            command -v python3 >/dev/null || { echo 'python3 is missing'; exit; }
            mkdir -p "$T/private/back/a/b" "$T/stale"; chmod 700 "$T/private"; touch "$T/private/back/a/b/f"
            "$A" mount -o cache=exclusive "$T/private/back" "$T/mnt"
            python3 -c '\#(Self.stale)' "$T/stale" >"$T/said" & server=$!
            for i in $(seq 500); do grep -qs ready "$T/said" && break; sleep 0.02; done
            as() { setpriv --reuid 61753 --regid 61753 --clear-groups "$@"; }
            # How many questions ten walks cost.
            decisions() { "$A" status --json "$T/mnt" | tr , '\n' | sed -n 's/.*"allowed":\([0-9]*\).*/\1/p'; }
            walks() {
                before=$(decisions); for i in 1 2 3 4 5 6 7 8 9 10; do as stat "$T/mnt/a/b/f" >"$T/walked"; done
                [ $(($(decisions) - before)) -lt 5 ] && echo cached || echo asked
            }
            walks >"$T/first"; is 'believed' cached "$(walks)"
            holds 'it is stale' "$(as stat "$T/mnt/a/b/../../../stale/z" 2>&1)" 'Stale file handle'
            is 'asked each time' asked "$(walks)"
            for i in $(seq 60); do [ "$(walks)" = cached ] && break; sleep 0.5; done
            is 'and believed again' cached "$(walks)"
            kill $server; umount -l "$T/stale"; "$A" unmount "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
