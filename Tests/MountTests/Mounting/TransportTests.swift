import Glibc
import TestSupport
import Testing

/// Whether the kernel offers FUSE over io_uring now.
enum RingTesting {
    static let isPossible: Bool = {
        let isOn = ProcFile.firstLine("/sys/module/fuse/parameters/enable_uring") == "Y"
        if !isOn { print("io_uring as transport is not tested: /sys/module/fuse/parameters/enable_uring is not Y") }
        return isOn
    }()
    static let transports = isPossible ? ["dev", "uring"] : ["dev"]
}

private enum ProcFile {
    static func firstLine(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, 64, file) != nil else { return nil }
        return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// How requests travel (docs/internals/transport.md): which way is taken, that it delays no other caller, and how it ends.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct TransportTests {
    @Test func theWayThatIsTakenIsSaid() throws {
        let result = try MountNamespace().run(
            #"""
            switch=$(cat /sys/module/fuse/parameters/enable_uring 2>/dev/null)
            way() { "$A" status --json "$T/mnt" | grep -o '"transport":"[a-z]*"'; }
            echo text >"$T/back/file"
            "$A" mount -o transport=dev "$T/back" "$T/mnt"
            is 'dev' '"transport":"dev"' "$(way)"; is 'dev serves' text "$(cat "$T/mnt/file")"
            holds 'why' "$("$A" status "$T/mnt")" 'uring off (requests come through /dev/fuse: transport=dev)'
            umount "$T/mnt"
            "$A" mount -o kernel_features=-uring "$T/back" "$T/mnt"
            is 'masked' '"transport":"dev"' "$(way)"; umount "$T/mnt"
            said=$("$A" mount -o kernel_features=-uring,transport=uring "$T/back" "$T/mnt" 2>&1); is 'a contradiction' 32 $?
            holds 'it is named' "$said" 'transport=uring: kernel_features hides it'
            said=$("$A" mount -o transport=uring "$T/back" "$T/mnt" 2>&1); taken=$?
            if [ "$switch" = Y ] && [ $taken = 0 ]; then
                is 'uring' '"transport":"uring"' "$(way)"; is 'uring serves' text "$(cat "$T/mnt/file")"
                holds 'what is fixed' "$(mount -o remount,transport=dev "$T/mnt" 2>&1)" 'cannot change while mounted'
                umount "$T/mnt"
                "$A" mount "$T/back" "$T/mnt"; is 'auto' '"transport":"uring"' "$(way)"; umount "$T/mnt"
            else
                is 'no uring' 32 $taken; holds 'why not' "$said" 'transport=uring: '
                "$A" mount "$T/back" "$T/mnt"; is 'auto' '"transport":"dev"' "$(way)"; umount "$T/mnt"
            fi
            is 'nothing is left' 0 "$(mounted "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The backing file system stands still: who creates waits in the daemon until it goes on. More of them than the
    /// device has threads, all on one processor; who only looks is answered.
    @Test(.enabled(if: LoopTesting.isPossible && RingTesting.isPossible, "needs loop devices, mkfs.ext4 and enable_uring"))
    func aWaitForTheDiskDelaysNoOtherCaller() throws {
        let result = try MountNamespace().run(
            #"""
            # The real one, where the tools of file systems are.
            umount /usr/sbin; PATH=$PATH:/usr/sbin; exec 2>/dev/null
            truncate -s 64M "$T/image"; mkfs.ext4 -q -F "$T/image"; mount -o loop "$T/image" "$T/back"; chmod 700 "$T/back"
            for i in $(seq 12); do mkdir "$T/back/d$i"; done; mkdir "$T/back/look"; echo text >"$T/back/look/file"
            "$A" mount -o transport=uring,cache=strict "$T/back" "$T/mnt"
            ls -lR "$T/mnt" >/dev/null; fsfreeze -f "$T/back"
            for i in $(seq 12); do taskset -c 0 touch "$T/mnt/d$i/new" & done
            sleep 0.5; waiting=($(jobs -pr)); is 'they wait' 12 ${#waiting[@]}
            is 'it is answered' text "$(timeout 20 taskset -c 0 cat "$T/mnt/look/file")"
            is 'this too' 12 "$(timeout 20 taskset -c 0 ls "$T/mnt" | grep -c ^d)"
            kill -9 "${waiting[@]}" 2>/dev/null
            is 'after a kill' text "$(timeout 20 taskset -c 0 cat "$T/mnt/look/file")"
            fsfreeze -u "$T/back"; wait
            is 'it goes on' 0 "$(status touch "$T/mnt/look/new")"
            umount "$T/mnt"; umount "$T/back"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Locks are the kernel's: the daemon does not see a caller that waits for one.
    @Test(arguments: RingTesting.transports) func aWaitForALockDelaysNoOtherCaller(_ transport: String) throws {
        let result = try MountNamespace().run(
            "W=transport=\(transport)\n" + #"""
                echo text >"$T/back/file"; "$A" mount -o "$W" "$T/back" "$T/mnt"
                exec 9<"$T/mnt/file"; flock 9
                for i in 1 2 3 4 5; do taskset -c 0 flock "$T/mnt/file" echo "got it" 9<&- >>"$T/got" & done
                sleep 0.3
                is 'it is answered' text "$(timeout 20 taskset -c 0 cat "$T/mnt/file")"
                is 'they wait' 0 "$(wc -l <"$T/got")"
                exec 9<&-; wait
                is 'they go on' 5 "$(wc -l <"$T/got")"
                umount "$T/mnt"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test(arguments: RingTesting.transports) func theEndUnderLoad(_ transport: String) throws {
        let result = try MountNamespace().run(
            "W=transport=\(transport)\n" + #"""
                # The shell tells of those that are killed.
                exec 2>/dev/null
                for round in 1 2 3 4; do
                    "$A" mount -o "$W" "$T/back" "$T/mnt"; mkdir -p "$T/back/d"
                    for i in 1 2 3 4; do
                        (cd "$T/back"; exec 2>/dev/null; n=0
                         while [ -e "$T/mnt/d" ]; do n=$((n+1)); echo x >"$T/mnt/d/f$i"; mv "$T/mnt/d/f$i" "$T/mnt/d/g$i"; cat "$T/mnt/d/g$i"; done) >/dev/null &
                    done
                    sleep 0.3
                    [ $round = 2 ] && kill -9 $(jobs -pr)
                    # A daemon that was killed frees who waits.
                    if [ $round = 3 ]; then kill_now $(kept "$T/mnt"); sleep 0.2; fi
                    if [ $round = 4 ]; then kill $(daemon "$T/mnt"); fi
                    umount -l "$T/mnt" 2>/dev/null; wait
                    for i in $(seq 500); do [ -z "$(daemon "$T/mnt")" ] && break; sleep 0.05; done
                    is "round $round: the daemon has ended" '' "$(daemon "$T/mnt")"
                    is "round $round: nothing is mounted" 0 "$(mounted "$T/mnt")"
                done
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// A mount works with few descriptors, however many rings it has.
    @Test(arguments: RingTesting.transports) func fewDescriptors(_ transport: String) throws {
        let result = try MountNamespace().run(
            "W=transport=\(transport)\n" + #"""
                for i in $(seq 600); do echo $i >"$T/back/f$i"; done
                (ulimit -n 256; exec "$A" mount -o "$W" "$T/back" "$T/mnt")
                is 'listed' 600 "$(ls -l "$T/mnt" | grep -c ' f')"
                is 'read' 600 "$(cat "$T"/mnt/f* | wc -l)"
                is 'held' yes "$([ "$(ls /proc/$(daemon "$T/mnt")/fd | wc -l)" -lt 256 ] && echo yes)"
                umount "$T/mnt"
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
