import TestSupport
import Testing

/// What cannot be mounted, and what is said of it: nothing is ever mounted by halves.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct MountRefusalTests {
    @Test func sourcesAndMountPoints() throws {
        let result = try MountNamespace().run(
            #"""
            refused() { # STATUS PART WORD…
                expected=$1 part=$2; shift 2
                said=$("$@" 2>&1); is "$*" $expected $?; holds "$*" "$said" "$part"
            }
            touch "$T/file"; mkdir "$T/other" "$T/back/inside"
            refused 32 "source $T/none: No such file or directory (ENOENT)" "$A" mount "$T/none" "$T/mnt"
            refused 32 "source $T/file: Not a directory (ENOTDIR)" "$A" mount "$T/file" "$T/mnt"
            refused 32 "mount point $T/none: No such file or directory (ENOENT)" "$A" mount "$T/back" "$T/none"
            refused 32 "mount point $T/file: Not a directory (ENOTDIR)" "$A" mount "$T/back" "$T/file"
            refused 1 'expected SOURCE and MOUNTPOINT, got 1 word' "$A" mount "$T/back"
            refused 1 '-o needs a value' "$A" mount "$T/back" "$T/mnt" -o
            refused 2 'namespace /none: No such file or directory (ENOENT)' mount.aclfs "$T/back" "$T/mnt" -N /none
            refused 1 "unknown flag '-q'" mount.aclfs "$T/back" "$T/mnt" -q
            is 'fake' 0 "$(status mount.aclfs "$T/back" "$T/mnt" -f -s -n -v -N /proc/self/ns/mnt -t aclfs -o rw)"
            is 'nothing so far' 0 "$(grep -c " $T.*fuse.aclfs" /proc/self/mounts)"

            "$A" mount "$T/back" "$T/mnt"
            mkdir "$T/mnt/below" "$T/bind"; mount --bind "$T/mnt/below" "$T/bind"
            refused 32 "lies in the aclfs mount" "$A" mount "$T/mnt" "$T/other"
            refused 32 "name the directory that it serves ($T/back)" "$A" mount "$T/mnt/below" "$T/other"
            refused 32 'lies in the aclfs mount' "$A" mount "$T/bind" "$T/other"
            refused 32 "mount point $T/mnt is in use: $T/back is mounted there" "$A" mount "$T/other" "$T/mnt"
            refused 32 "mount point $T/mnt is in use" mount -t aclfs "$T/back" "$T/mnt"
            umount "$T/bind" "$T/mnt"

            refused 32 'can be reached directly by' "$A" mount -o source_mode=require-private "$T/other" "$T/mnt"
            is 'kept private' 0 "$(status "$A" mount -o source_mode=require-private "$T/back" "$T/mnt")"
            umount "$T/mnt"
            mount -t ramfs -o mode=700 ramfs "$T/other"
            refused 32 'has no extended attributes' "$A" mount "$T/other" "$T/mnt"
            # Where there is no device, or no process may mount.
            mkdir "$T/dev"; mount --bind "$T/dev" /dev
            refused 2 '/dev/fuse: No such file or directory (ENOENT); load the module fuse' "$A" mount "$T/back" "$T/mnt"
            umount /dev
            refused 32 'mount(2) needs the capability CAP_SYS_ADMIN' \
                setpriv --bounding-set=-sys_admin "$A" mount "$T/back" "$T/mnt"
            refused 32 'nothing is mounted there' "$A" unmount "$T/mnt"
            refused 32 'a tmpfs is mounted there, not aclfs' "$A" unmount "$T"
            refused 1 'usage: aclfs unmount' "$A" unmount
            is 'nothing at the end' 0 "$(grep -c " $T.*fuse.aclfs" /proc/self/mounts)"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func placesThatWork() throws {
        let result = try MountNamespace().run(
            #"""
            mkdir "$T/back/inside"; echo text >"$T/back/file"
            "$A" mount "$T/back" "$T/back/inside"
            is 'a mount point inside the source' text "$(cat "$T/back/inside/file")"
            is 'shows empty' '' "$(ls -A "$T/back/inside/inside")"
            umount "$T/back/inside"
            mount -t aclfs "$T/back" "$T/back"
            is 'over itself' text "$(cat "$T/back/file")"
            is 'served' fuse.aclfs "$(findmnt -no FSTYPE "$T/back")"
            refused=$("$A" mount "$T/back" "$T/back" 2>&1); is 'over itself twice' 32 $?
            umount "$T/back"
            cd "$T"; is 'relative, without a word' 0 "$("$A" back mnt 2>&1; echo $?)"
            is 'as it was said' back "$(findmnt -no SOURCE "$T/mnt")"
            is 'the daemon stands in' / "$(readlink /proc/$(daemon mnt)/cwd)"
            is 'and holds no terminal' /dev/null "$(readlink /proc/$(daemon mnt)/fd/2)"
            umount mnt
            mkdir inside && cd inside && mount -t tmpfs none "$T/inside" && cd "$T"
            is 'over another mount' 0 "$("$A" mount "$T/back" "$T/inside" 2>&1; echo $?)"
            "$A" unmount "$T/inside"; is 'which is back' tmpfs "$(findmnt -no FSTYPE "$T/inside")"
            # A place for the control socket that would lie on the mount itself.
            mkdir "$T/run" "$T/keep"; mount --bind "$T/run" /run; mkdir "$T/run/inner"
            is 'over /run' 0 "$(timeout 20 "$A" mount "$T/back" /run 2>&1; echo $?)"
            is 'it answers' text "$(timeout 5 cat /run/file)"
            umount /run; umount /run
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func everyOptionIsTakenOrNamed() throws {
        let result = try MountNamespace().run(
            #"""
            for o in owners noowners acl noacl securelevel=0 securelevel=2 grpid nogrpid bsdgroups sysvgroups suiddir \
                nosuiddir groups=process groups_cache=0 crossmounts nocrossmounts unknown99 fsname=x metadata=auto list_room=0 list_room=128 \
                metadata=trusted metadata=user xattr_names=linux xattr_names=mac xattr_names=both portable_acl=on portable_acl=off cache=auto \
                cache=strict cache=exclusive cache=5 special=gate special=open source_mode=require-private \
                kernel_features=-epoch,-passthrough,-uring,-statx,-killpriv2,-expire,-beneath 'kernel_features="-epoch,-uring"' \
                nofail user users nouser group owner auto noauto _netdev defaults comment=x x-a=b X-c loud silent \
                relatime norelatime strictatime lazytime nolazytime iversion noiversion mand nomand user_id=0 \
                group_id=0 rootmode=40000 blksize=4096 nonempty use_ino user=zed \
                ro rw suid nosuid dev nodev exec noexec sync async dirsync noatime nodiratime nosymfollow \
                allow_other rootsquash rootsquash=99 zerofill=write zerofill=allocate zerofill=off zerofill_max=0 zerofill_max=1G zerofill_budget=off zerofill_budget=0 zerofill_budget=64M audit=off posixacl=translate posixacl=off passthrough=auto passthrough=off transport=auto transport=dev \
                'fsname="a,b"' 'fsname=a\,b' 'noowners,,acl' suiddir=all 'noowners,suid,nosuid' 'noowners,suid,owners' ''
            do
                said=$(mount.aclfs "$T/back" "$T/mnt" -f -o "$o" 2>&1) || echo "$o: $said"
            done
            wrong() { said=$("$A" mount -o "$1" "$T/back" "$T/mnt" 2>&1); is "$1" 1 $?; holds "$1" "$said" "$2"; }
            for o in export export=; do wrong "$o" "option '$o' is not available yet"; done
            wrong identities "option 'identities' needs a value"
            wrong identities=ids "expected a file's absolute path"
            for o in rootsquash= rootsquash=0 rootsquash=nobody; do wrong "$o" "expected a uid from 1 to 4294967294"; done
            wrong noowner "unknown option 'noowner'; did you mean 'noowners'?"
            wrong secure_level=1 "did you mean 'securelevel'?"
            wrong suiddir=root "expected all"
            wrong nosuiddir=all "takes no value"
            wrong noowners,suid "options 'noowners' and 'suid' contradict each other"
            wrong suid,noowners "options 'noowners' and 'suid' contradict each other"
            wrong zerofil=write "did you mean 'zerofill'?"
            wrong zerofill=yes "expected write, allocate, off"
            wrong passthrough=on "expected auto, off"
            wrong zerofill_max=1X "expected a size"
            wrong zerofill_max=99999999T "expected a size"
            wrong zerofill_budget=none "expected off, a size"
            wrong readonly "unknown option 'readonly'"
            wrong securelevel=3 "expected a number from 0 to 2"
            wrong securelevel "option 'securelevel' needs a value"
            wrong noacl=yes "option 'noacl' takes no value"
            wrong cache=never "expected auto, strict, exclusive, a number of seconds up to 3600"
            wrong posixacl=on "expected translate, off"
            wrong transport=ring "expected auto, uring, dev"
            wrong metadata=xattr "expected auto, trusted, user"
            wrong kernel_features=-epochs "expected -epoch"
            wrong kernel_features=-epoch,-uuring "expected -epoch"
            wrong -epoch "unknown option '-epoch'"
            wrong default_permissions 'AND the mode bits into every decision'
            wrong 'fsname="a' 'unbalanced quote'
            wrong 'fsname=a\' 'end in a lone backslash'
            is 'nothing is mounted' 0 "$(mounted "$T/mnt")"
            "$A" mount -o 'fsname="x, y\"z",noowners,owners' "$T/back" "$T/mnt"
            is 'quoted and escaped' 'x, y"z' "$(findmnt -no SOURCE "$T/mnt")"
            holds 'the later word wins' "$("$A" status "$T/mnt" | grep options:)" ,owners,
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
