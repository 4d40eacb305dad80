import Foundation
import Testing

/// What `aclfs sandbox run` starts, with what, and on which systems.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRunStartTests {
    private func run(_ script: String) throws -> CommandResult {
        try SandboxRunScript.run(#""$A" mount "$BACK" "$SHARE" >/dev/null 2>&1; treasures"# + "\n" + script)
    }

    /// A directory of PATH that the view refuses, or that is closed to the caller, is passed over.
    @Test(arguments: ["ann", "as_root"]) func theProgramIsLookedForAsShellsDo(_ who: String) throws {
        let result = try run(
            #"""
            mkdir -p "$SHARE/home/ann/.local/bin" "$T/closed" "$T/plain" "$T/here" "$T/dir/ls" "$T/odd"; chown -R $ANN:$ANN "$BACK/home"
            chmod 700 "$T/closed"; touch "$T/plain/ls" "$T/plain/kept"; ln -s loop "$T/odd/ls"; ln -s ls "$T/odd/loop"
            printf 'echo "script $1"\n' >"$T/here/text"; printf '#!/nowhere\n' >"$T/here/broken"; chmod +x "$T/here"/*
            HIS=$SHARE/home/ann/.local/bin; USUAL=/usr/bin:/bin; start() { PATH=$1; shift; run WHO -- "$@"; }
            for path in "$HIS:$USUAL" "$USUAL:$HIS" "$T/closed:$USUAL" "$T/none:$USUAL" "$T/plain:$USUAL" "$T/dir:$USUAL" "$T/odd:$USUAL"; do
                is "$path" /etc "$(start "$path" ls -d /etc 2>&1)"
                said=$(start "$path" nosuch 2>&1); is "$path: its code" 127 $?; holds "$path: what is missing" "$said" 'nosuch: No such file'
            done
            said=$(start "$HIS:$T/plain:$USUAL" kept 2>&1); is 'what cannot be run' 126 $?; holds 'its reason' "$said" 'kept: Permission denied'
            said=$(start "$T/here" broken 2>&1); is 'without its interpreter' 126 $?; holds 'the reason' "$said" 'broken: No such file'
            is 'a text' 'script a' "$(start "$HIS:$T/here:$USUAL" text a 2>&1)"
            is 'the working directory' 'script b' "$(cd "$T/here"; start ":$USUAL" text b 2>&1)"
            is 'a path' 'script c' "$(cd "$T/here"; start "$USUAL" ./text c 2>&1)"
            is 'no name' 127 "$(start "$USUAL" '' 2>/dev/null; echo $?)"
            is 'without PATH' /etc "$(unset PATH; run WHO -- ls -d /etc 2>&1)"
            settle 1
            """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }

    /// From who has one that notes times of access in one way the kernel keeps a /proc that does in another.
    @Test(arguments: ["noatime", "strictatime", "nodiratime", "noatime,nodiratime", "strictatime,nodiratime", "relatime"])
    func procIsMountedWithTheSameTimes(_ options: String) throws {
        let result = try run(
            #"""
            mount -o remount,bind,OPTIONS /proc || echo 'no such mount'
            times() { grep ' /proc proc ' /proc/self/mounts | tail -n 1 | tr ' ' '\n' | grep -o -w 'noatime\|nodiratime\|relatime'; }
            for who in ann as_root; do
                is "$who runs" sh "$(run $who -- sh -c 'cat /proc/$$/comm' 2>&1)"
                is "$who: the same" "$(times)" "$(run $who -- bash -c "$(declare -f times); times" 2>&1)"
            done
            settle 1
            """#.replacing("OPTIONS", with: options))
        #expect(result.output == "done", "\(result)")
    }
}
