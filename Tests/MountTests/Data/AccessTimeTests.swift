import TestSupport
import Testing

/// `noatime`, `nodiratime`, `relatime` and `strictatime` do on the mount what they do on any other file system: the same steps are gone
/// on a tmpfs with the same words, and the same access times move.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct AccessTimeTests {
    /// `steps DIR STAT` reads objects whose access time is older than a day, and such whose is in the future, and prints which moved. To
    /// relatime the one is old and the other new. STAT is where the times are looked at.
    private static let setup = #"""
        mkdir "$T/native" "$T/src"
        past=946684800 future=4102444800
        prepare() {
            mkdir "$1/dir-past" "$1/dir-future"
            for when in past future; do
                for kind in read copied mapped; do echo text >"$1/$kind-$when"; done
                ln -s target "$1/link-$when"; touch "$1/dir-$when/name"
                touch -ahd "@${!when}" "$1"/*-$when
            done
        }
        times() { (cd "$1"; for f in *-*; do echo "$f $(stat -c %X "$f")"; done); }
        moved() { awk -v past=$past -v future=$future '$2 != past && $2 != future { print $1 }' | tr '\n' ' '; }
        cat >"$T/use" <<'END'
        import mmap, os, sys
        os.chdir(sys.argv[1])
        for when in ("past", "future"):
            # Open before, as a program may be that reads now and then.
            for _ in range(2):
                with open(f"read-{when}") as file: file.read()
            with open(f"mapped-{when}") as file:
                mapping = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ); mapping[0]; mapping.close()
            source = os.open(f"copied-{when}", os.O_RDONLY); target = os.open("target", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.sendfile(target, source, 0, 100)
            os.readlink(f"link-{when}"); os.listdir(f"dir-{when}")
        END

        """#

    /// In `make test` those that differ from what the backing file system does.
    private static func rules(_ below: String) -> String {
        if MountTesting.isLong { return "noatime relatime strictatime nodiratime strictatime,nodiratime noatime,strictatime" }
        return ["relatime": "noatime strictatime nodiratime", "noatime": "strictatime,nodiratime", "strictatime": "relatime"][below] ?? ""
    }

    private func run(_ script: String) throws -> CommandResult { try MountNamespace().run(Self.setup + script) }

    /// - Parameter below: how the backing file system itself is mounted.
    @Test(arguments: ["auto", "off"], ["relatime", "noatime", "strictatime"])
    func timesMoveAsOnAnyFileSystem(_ passthrough: String, _ below: String) throws {
        let result = try run(
            "passthrough=\(passthrough); below=\(below); rules='\(Self.rules(below))'\n"
                + #"""
                for rule in $rules; do
                    # Nothing is said of files there: they go as below.
                    case $rule in nodiratime) native=$below,nodiratime ;; *) native=$rule ;; esac
                    mount -t tmpfs -o mode=755,$native tmpfs "$T/native"; prepare "$T/native"; python3 "$T/use" "$T/native"
                    expected=$(times "$T/native" | moved); umount "$T/native"
                    mount -t tmpfs -o mode=700,$below tmpfs "$T/src"; prepare "$T/src"
                    "$A" mount -o passthrough=$passthrough,$rule "$T/src" "$T/mnt"; python3 "$T/use" "$T/mnt"
                    is "$rule on $below" "$expected" "$(times "$T/mnt" | moved)"
                    is "$rule on $below, seen below" "$(times "$T/src")" "$(times "$T/mnt")"
                    case ,$rule, in
                    *,nodiratime,*) holds "$rule in the table" ",$(options "$T/mnt")," ,nodiratime, ;;
                    esac
                    "$A" unmount "$T/mnt"; is 'the source is free' 0 "$(umount "$T/src" 2>&1; echo $?)"
                done
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Without a word everything is as below, and the kernel's table says what is in force.
    @Test(arguments: ["auto", "off"]) func withoutAWordItIsAsBelow(_ passthrough: String) throws {
        let result = try run(
            "passthrough=\(passthrough)\n"
                + #"""
                for below in relatime noatime strictatime; do
                    mount -t tmpfs -o mode=755,$below tmpfs "$T/native"; prepare "$T/native"; python3 "$T/use" "$T/native"
                    expected=$(times "$T/native" | moved); umount "$T/native"
                    mount -t tmpfs -o mode=700,$below tmpfs "$T/src"; prepare "$T/src"
                    "$A" mount -o passthrough=$passthrough "$T/src" "$T/mnt"; python3 "$T/use" "$T/mnt"
                    is "$below" "$expected" "$(times "$T/mnt" | moved)"
                    "$A" unmount "$T/mnt"; is 'the source is free' 0 "$(umount "$T/src" 2>&1; echo $?)"
                done
                shown() { "$A" mount -o "$1" "$T/back" "$T/mnt"; is "$1" "$2" "$(findmnt -no VFS-OPTIONS "$T/mnt")"; "$A" unmount "$T/mnt"; }
                shown rw rw,nosuid,nodev,relatime; shown noatime rw,nosuid,nodev,noatime; shown strictatime rw,nosuid,nodev
                shown relatime rw,nosuid,nodev,relatime; shown nodiratime,noatime rw,nosuid,nodev,noatime,nodiratime
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// On a mount below the source, too, and that is not kept busy.
    @Test(arguments: ["auto", "off"]) func mountsBelowGoByTheSameRule(_ passthrough: String) throws {
        let result = try run(
            "passthrough=\(passthrough)\n"
                + #"""
                mkdir "$T/back/below"; mount -t tmpfs -o mode=755 tmpfs "$T/back/below"; prepare "$T/back/below"
                "$A" mount -o passthrough=$passthrough,noatime "$T/back" "$T/mnt"; python3 "$T/use" "$T/mnt/below"
                is noatime '' "$(times "$T/mnt/below" | moved)"
                "$A" unmount "$T/mnt"; is 'not busy' 0 "$(umount "$T/back/below" 2>&1; echo $?)"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// What is opened from then on goes by the new rule, whatever has remounted it.
    @Test(arguments: ["auto", "off"], ["mount", "mount -i"]) func aRemountChangesTheRule(_ passthrough: String, _ command: String) throws {
        let result = try run(
            "passthrough=\(passthrough) command='\(command)'\n"
                + #"""
                mount -t tmpfs -o mode=700 tmpfs "$T/src"; prepare "$T/src"; "$A" mount -o passthrough=$passthrough,noatime "$T/src" "$T/mnt"
                python3 "$T/use" "$T/mnt"; is noatime '' "$(times "$T/mnt" | moved)"
                $command -o remount,strictatime "$T/mnt"; is remount 0 $?
                # The daemon hears of it from the kernel.
                for i in $(seq 1500); do cat "$T/mnt/read-past" >/dev/null; [ "$(stat -c %X "$T/mnt/read-past")" != $past ] && break; sleep 0.02; done
                python3 "$T/use" "$T/mnt"
                is strictatime "$(times "$T/mnt" | awk '{ print $1 }' | tr '\n' ' ')" "$(times "$T/mnt" | moved)"
                "$A" unmount "$T/mnt"; is 'the source is free' 0 "$(umount "$T/src" 2>&1; echo $?)"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Where the mount below only reads, nothing is written through the copy of it either.
    @Test func aMountThatOnlyReadsStaysSo() throws {
        let result = try run(
            #"""
            mkdir "$T/view"; prepare "$T/src"; mount --bind "$T/src" "$T/view"
            "$A" mount -o strictatime "$T/view" "$T/mnt" 2>/dev/null; is 'writable' 0 "$(status sh -c 'echo more >>"$1/read-past"' x "$T/mnt")"
            # The RELEASE comes after close(2).
            for i in $(seq 500); do mount -o remount,bind,ro "$T/view" 2>/dev/null && break; sleep 0.02; done
            content=$(cat "$T/src/read-past")
            for way in '>>' '<>'; do is "open $way" 2 "$(status sh -c "echo more 1$way\"\$1/read-past\"" x "$T/mnt")"; done
            is unchanged "$content" "$(cat "$T/src/read-past")"
            "$A" unmount "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func anOrdinaryUserMayAskForNoneOfTheUsersOwnFiles() throws {
        let result = try run(
            UserMountTests.setup
                + #"""
                prepare "$T/zed/back"; chown -hR 61743:61743 "$T/zed/back"; touch -ad "@$past" "$T/zed/back/dir-past"
                zed "$A" mount -o noatime "$T/zed/back" "$T/mnt" 2>/dev/null; is mount 0 $?
                zed cat "$T/mnt/read-past" "$T/mnt/read-future" >/dev/null; zed ls "$T/mnt/dir-past" >/dev/null
                is noatime "$past $past" "$(zed stat -c %X "$T/mnt/read-past" "$T/mnt/dir-past" | tr '\n' ' ' | sed 's/ $//')"
                zed "$A" unmount "$T/mnt"
                said=$(zed "$A" mount -o strictatime "$T/zed/back" "$T/mnt" 2>&1); is strictatime 1 $?
                holds strictatime "$said" "option 'strictatime' needs root"; rm -rf /tmp/aclfs-61743
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
