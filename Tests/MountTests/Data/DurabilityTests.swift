import TestSupport
import Testing

/// What is on the disk when a call has returned (docs/internals/data-path.md "On the disk"). Power is cut by a copy of the image of the backing ext4, right after
/// the call: ext4 writes its journal after five minutes, or when it is asked to.
@Suite(.enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct DurabilityTests {
    /// Options of the mount. On so small a file system root's writes go through the daemon, and Alice's past it.
    private static let places =
        MountTesting.isLong ? dataWays.flatMap { way in ["uring", "dev"].map { "\(way),transport=\($0)" } } : dataWays

    /// `cut` shows at $T/disk what is on the disk. `try BYTES CALL WORD…`: whether the call has brought so many bytes there.
    private func run(_ options: String, backing: String = "commit=300", _ script: String) throws {
        let alice = TestUser.alice
        let images = try ScratchDirectory("durability", in: "/var/tmp")
        defer { withExtendedLifetime(images) {} }
        // Here, because the namespace of the script has no mkfs.
        for command in [
            ["truncate", "-s", "96M", images.path + "/image"],
            ["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", images.path + "/image"],
        ] {
            let made = try Spawn.run(command)
            guard made.status == 0 else { throw FixtureError("\(command): \(made)") }
        }
        let result = try MountNamespace().run(
            #"""
            D=\#(MountTesting.program("aclfs-durable")); number=0; as=
            B=$T/fs/share; mkdir -m 700 "$T/fs"; mkdir "$T/disk"
            cp --sparse=always \#(images.path)/image "$T/img"
            mount -o loop,\#(backing) "$T/img" "$T/fs" && chmod 700 "$T/fs" && mkdir -m 777 "$B"
            cut() { cp --sparse=always "$T/img" "$T/copy" && mount -o loop "$T/copy" "$T/disk"; }
            mend() { umount "$T/disk"; }
            on_disk() { cut; (cd "$T/disk/share" && eval "$1") 2>&1; mend; }
            try() {
                bytes=$1; shift; number=$((number + 1)); f=f$number
                : >"$T/mnt/$f"; [ -z "$as" ] || chown \#(alice.uid) "$T/mnt/$f"
                case $1 in msync) truncate -s 8192 "$T/mnt/$f" ;; esac
                [ -z "${entry-}" ] || "$A" chmod +a "$entry" "$T/mnt/$f"
                sync -f "$B"; call=$1; shift
                $as "$D" "$call" "$T/mnt/$f" "$@"; code=$?
                [ $code = 77 ] || is "$as $call $* ${entry-}" "0 $bytes" "$code $(on_disk "tr -dc x <$f | wc -c")"
            }
            alice="\#(alice.arguments.joined(separator: " ")) --"
            "$A" mount -o \#(options) "$B" "$T/mnt"
            \#(script)
            "$A" unmount "$T/mnt"; umount "$T/fs"
            """#)
        #expect(result.output == "done", "\(options): \(result)")
    }

    @Test(arguments: places) func whatACallerAsksFor(_ place: String) throws {
        let more = """
            try 8192 write sync; try 8192 rwf-sync; try 8192 rwf-sync append; try 8192 aio dsync; try 8192 fsync; try 8192 fdatasync; \
            try 8192 fsync append; try 8192 write direct dsync; try 8192 write direct append dsync; try 0 write append; \
            try 8192 splice dsync from="$T/mnt/source"; try 8192 sendfile sync from="$T/mnt/source"
            """
        try run(
            place,
            #"""
            head -c 8192 /dev/zero | tr '\0' x >"$T/mnt/source"
            for as in "" "$alice"; do
                # That a cut loses what nobody asked for.
                try 0 write
                try 8192 write dsync; try 8192 write append dsync; try 8192 write append sync
                try 8192 rwf-dsync; try 8192 rwf-dsync append
                try 8192 aio direct dsync; try 8192 copy dsync from="$T/mnt/source"
                try 8192 fdatasync append; try 8192 msync
                \#(MountTesting.isLong ? more : "")
            done
            as=; entry="everyone deny write"
            try 0 write append; try 8192 write append dsync; try 8192 rwf-sync append; try 8192 fsync append
            entry=; : >"$T/mnt/long"; sync -f "$B"; "$D" fallocate "$T/mnt/long" dsync
            is fallocate "8192 16" "$(on_disk 'stat -c "%s %b" long')"
            mkdir "$T/mnt/made"; sync "$T/mnt"; is 'fsync of a directory' made "$(on_disk 'ls -d made')"
            """#)
    }

    @Test(arguments: places) func whatSyncPromises(_ place: String) throws {
        try run(
            place + ",sync",
            #"""
            head -c 8192 /dev/zero | tr '\0' x >"$T/mnt/source"
            for as in "" "$alice"; do try 8192 write; try 8192 write append; try 8192 copy from="$T/mnt/source"; done
            as=; : >"$T/mnt/f"; : >"$T/mnt/long"; sync -f "$B"
            "$D" fallocate "$T/mnt/long"; is fallocate 8192 "$(on_disk 'stat -c %s long')"
            chmod 604 "$T/mnt/f"; is chmod 604 "$(on_disk 'stat -c %a f')"
            "$A" chmod +a "everyone deny write" "$T/mnt/f"; holds list "$(on_disk '"$A" acl export --offline f')" deny
            "$A" chmod -N "$T/mnt/f"
            truncate -s 77 "$T/mnt/f"; is truncate 77 "$(on_disk 'stat -c %s f')"
            : >"$T/mnt/f"; is 'open to truncate' 0 "$(on_disk 'stat -c %s f')"
            mkdir "$T/mnt/d"; is mkdir d "$(on_disk 'ls -d d')"
            # The daemon follows a moment later.
            mount -i -o remount,async "$T/mnt"
            for i in $(seq 50); do mkdir "$T/mnt/a$i"; [ "$(on_disk "ls -d a$i 2>&1")" = a$i ] || break; done; try 0 write
            mount -i -o remount,sync "$T/mnt"
            for i in $(seq 50); do mkdir "$T/mnt/s$i"; [ "$(on_disk "ls -d s$i 2>&1")" = s$i ] && break; done; try 8192 write
            """#)
    }

    /// With owner and mode: a creation takes several calls on the backing file system.
    @Test(arguments: ["dirsync on the mount", "dirsync below"]) func whatDirsyncPromises(_ way: String) throws {
        let isBelow = way == "dirsync below"
        try run(
            isBelow ? "passthrough=auto" : "dirsync", backing: isBelow ? "commit=300,dirsync" : "commit=300",
            #"""
            cd "$T/mnt"; uid=\#(TestUser.alice.uid); umask 027
            $alice mkdir d; is mkdir "$uid 750" "$(on_disk 'stat -c "%u %a" d')"
            $alice sh -c ': >f'; is creat "$uid 640" "$(on_disk 'stat -c "%u %a" f')"
            $alice ln -s f s; is symlink "$uid" "$(on_disk 'stat -c %u s')"
            $alice mkfifo p; is mknod "$uid 640" "$(on_disk 'stat -c "%u %a" p')"
            $alice ln f d/l; is link 2 "$(on_disk 'stat -c %h d/l')"
            $alice mv f d/g; is rename 'd/g' "$(on_disk 'ls f d/g 2>/dev/null')"
            $alice rm d/l; is unlink 1 "$(on_disk 'stat -c %h d/g')"
            $alice mkdir e; $alice rmdir e; is rmdir '' "$(on_disk 'ls -d e 2>/dev/null')"
            try 0 write; cd /
            """#)
    }

    /// The kernel of the second mount still has the old size.
    @Test(arguments: ["", ",transport=dev"]) func appendingByCallAddsWhereAnotherMountHasLeftTheEnd(_ transport: String) throws {
        let result = try MountNamespace().run(
            #"""
            D=\#(MountTesting.program("aclfs-durable")); mkdir "$T/other"; mkfifo "$T/go"
            for m in mnt other; do "$A" mount -o passthrough=off\#(transport) "$T/back" "$T/$m"; done
            for round in $(seq 20); do
                printf 0123456789 >"$T/mnt/f"
                "$D" rwf-append "$T/other/f" <"$T/go" >"$T/said" & exec 8>"$T/go"
                for i in $(seq 500); do grep -qs ready "$T/said" && break; sleep 0.02; done
                printf abcdefghij >>"$T/mnt/f"; echo >&8; wait; exec 8>&-
                is 'the size' 8212 "$(tail -n 1 "$T/said")"
                is 'the bytes' 0123456789abcdefghijxx "$(head -c 22 "$T/back/f")"
                is 'the bytes there' 0123456789abcdefghijxx "$(head -c 22 "$T/other/f")"
            done
            "$A" unmount "$T/other"; "$A" unmount "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
