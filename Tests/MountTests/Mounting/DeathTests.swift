import TestSupport
import Testing

/// The daemon is killed, and no program notices.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DeathTests {
    private func run(_ script: String) throws {
        let result = try MountNamespace().run(UpgradeTests.setup + script)
        #expect(result.output == "done", "\(result)")
    }

    /// Three users at work while the daemon is killed again and again.
    @Test(
        arguments: MountTesting.isLong
            ? ["passthrough=auto", "passthrough=off", "cache=strict", "cache=exclusive", "dirsync"] : ["passthrough=auto"])
    func nobodyNotices(_ option: String) throws {
        try run(
            #"""
            chmod 755 "$T/back"; "$A" mount -o "transport=dev,restarts=99,$1" "$T/back" "$T/mnt" 2>/dev/null; M=$T/mnt
            for u in 0 61751 61752; do mkdir "$M/$u"; chown $u:$u "$M/$u"; done
            for u in 0 61751 61752; do load "$M/$u" $u "$T/stop" >"$T/said.$u"; done
            for i in $(seq 1000); do [ -e "$M/0/f3" ] || [ -e "$M/0/h3" ] && break; sleep 0.01; done
            keeper=$(kept "$M" | grep -vxF "$(daemon "$M")"); device=$(stat -c %d "$M"); killed=0
            while [ $killed -lt $2 ]; do
                child=$(cat /proc/$keeper/task/$keeper/children); [ "$child" ] || continue
                kill -9 $child && killed=$((killed + 1)); sleep 0.$((RANDOM % 2))$((RANDOM % 10))
            done
            for i in $(seq 500); do timeout 5 stat -f "$M" >/dev/null 2>&1 && break; sleep 0.02; done
            touch "$T/stop"; wait
            for u in 0 61751 61752; do is "user $u" 'wrong 0 [] rounds many' "$(cat "$T/said.$u")"; done
            is 'the same mount' "$device" "$(stat -c %d "$M")"; is 'one mount' 1 "$(mounted "$M")"
            is 'the keeper' "$keeper" "$(kept "$M" | grep -vxF "$(daemon "$M")")"
            is unmounted 0 "$("$A" unmount "$M" 2>&1; echo $?)"; is 'both have ended' '' "$(kept "$M")"
            """#.replacing("$1", with: option).replacing("$2", with: MountTesting.isLong ? "90" : "20"))
    }
}
