import Foundation
import TestSupport
import Testing

/// `aclfs fstab-line` and `aclfs doctor`.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SetupTests {
    @Test func aLineOfFstabMounts() throws {
        let result = try MountNamespace().run(
            #"""
            mkdir "$T/back/a b" "$T/d	e"
            line=$("$A" fstab-line -o nogrpid,cache=strict "$T/back/a b" "$T/d	e")
            is 'the line' "$T/back/a\\040b  $T/d\\011e  aclfs  nogrpid,cache=strict,nofail,x-systemd.requires-mounts-for=\"$T/back/a\\040b\"  0 0" "$line"
            echo "$line" >/etc/fstab
            is 'all of fstab' 0 "$(mount -a 2>&1; echo $?)"
            holds 'options' "$("$A" status "$T/d	e")" nogrpid
            umount "$T/d	e"
            "$A" fstab-line "$T/back" "$T/back" >/etc/fstab
            is 'over itself it waits for nothing' "$T/back  $T/back  aclfs  nofail  0 0" "$(cat /etc/fstab)"
            is 'by its place' 0 "$(mount "$T/back" 2>&1; echo $?)"
            umount "$T/back"
            cd "$T"; holds 'real paths' "$("$A" fstab-line back mnt)" "$T/back  $T/mnt "
            holds 'automount' "$("$A" fstab-line --automount back mnt)" ',noauto,x-systemd.automount  0 0'
            holds 'not yet there' "$("$A" fstab-line /none/a /none/b)" '/none/a  /none/b '
            is 'a relative path that is not there' 2 "$(status "$A" fstab-line none mnt)"
            said=$("$A" fstab-line -o owwners back mnt 2>&1); is 'a wrong option' 2 $?
            holds 'the nearest one' "$said" "did you mean 'owners'"
            is 'a contradiction' 2 "$(status "$A" fstab-line -o noowners,suid back mnt)"
            said=$("$A" fstab-line -o remount,ro back mnt 2>&1); is 'a remount' 2 $?; holds 'a remount' "$said" "'remount' changes an existing mount"
            said=$("$A" fstab-line -o fsname=x back mnt 2>&1); is fsname 2 $?; holds fsname "$said" 'fsname= hides the source from mount(8)'
            mkdir "$T/back/a,b" "$T/back/q\"x"
            line=$("$A" fstab-line "$T/back/a,b" "$T/mnt" 2>&1)
            is 'a comma' "$T/back/a,b  $T/mnt  aclfs  nofail,x-systemd.requires-mounts-for=\"$T/back/a\\134,b\"  0 0" "$line"
            echo "$line" >/etc/fstab; is 'a comma mounts' 0 "$(mount -a 2>&1; echo $?)"; is 'it is there' 1 "$(mounted "$T/mnt")"; umount "$T/mnt"
            said=$("$A" fstab-line "$T/back/q\"x" mnt 2>&1 >"$T/line"); is 'a quote' "$T/back/q\"x  $T/mnt  aclfs  nofail  0 0" "$(cat "$T/line")"
            holds 'a quote' "$said" "warning: x-systemd.requires-mounts-for= cannot name $T/back/q\"x"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// What systemd makes of the word by which it waits for the source.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: generator), "no systemd-fstab-generator (apt install systemd)"))
    func systemdWaitsForTheSource() throws {
        let result = try MountNamespace().run(
            #"""
            mkdir "$T/back/a,b" "$T/back/a b"
            for source in 'a,b' 'a b'; do
                "$A" fstab-line "$T/back/$source" "$T/mnt" >"$T/one"
                rm -rf "$T/units"; mkdir "$T/units"
                SYSTEMD_FSTAB=$T/one "$GENERATOR" "$T/units" "$T/units" "$T/units"
                cat "$T/units"/*mnt.mount >"$T/x.service"; sed -i '/^\[Mount\]/,$d' "$T/x.service"
                printf '[Service]\nExecStart=/bin/true\n' >>"$T/x.service"
                is "$source is read" '' "$(systemd-analyze verify --man=no "$T/x.service" 2>&1 | grep RequiresMountsFor)"
                holds "$source" "$(tr -d '"' <"$T/x.service")" "RequiresMountsFor=$T/back/$source"
            done
            """#.replacingOccurrences(of: "$GENERATOR", with: Self.generator))
        #expect(result.output == "done", "\(result)")
    }

    private static let generator = "/usr/lib/systemd/system-generators/systemd-fstab-generator"

    @Test func theDoctorFindsWhatIsWrong() throws {
        let result = try MountNamespace().run(
            #"""
            # Other tests' mounts may be dead.
            mount --make-rprivate /
            awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts | while read -r m; do umount -lc "$(printf "$m")" 2>/dev/null; done
            echo user_allow_other >"$T/fuse.conf"; touch /etc/fuse.conf; mount --bind "$T/fuse.conf" /etc/fuse.conf
            said=$("$A" doctor "$T/back"); is 'all is well' 0 $?
            holds 'the device' "$said" 'ok      /dev/fuse: '
            holds 'the helpers' "$said" 'ok      helpers of mount(8): '
            holds 'the line' "$said" 'ok      /etc/fuse.conf: '
            holds 'the source' "$said" "ok      $T/back: reachable without the mount by root only"
            chmod 755 "$T/back"
            said=$("$A" doctor "$T/back"); is 'a note is no problem' 0 $?
            holds 'others reach it' "$said" "note    $T/back: reachable without the mount by every user"
            holds 'what to do' "$said" '→ put it into a directory of mode 0700'
            case $said in *"chmod 0700 $T/back"*) echo 'it would shut everyone out of the share' ;; esac
            mkdir -p "$T/only/it"
            holds 'a directory of its own' "$("$A" doctor "$T/only/it")" "→ chmod 0700 $T/only, which holds nothing else"
            holds 'a part of the system' "$("$A" doctor /etc)" '→ put it into a directory of mode 0700'
            case $("$A" doctor "$T/back" "$T/back") in *'by every user'*) echo 'over itself it is hidden' ;; esac
            rm "$T/sbin/mount.aclfs"
            holds 'no helper' "$("$A" doctor)" 'note    helpers of mount(8): mount.aclfs not found'
            mount -t ramfs ramfs "$T/bin"
            said=$("$A" doctor "$T/bin"); is 'no attributes' 1 $?
            holds 'why' "$said" "problem $T/bin: its file system stores no extended attributes"
            said=$("$A" doctor "$T/none"); is 'no source' 1 $?
            holds 'why not' "$said" "problem $T/none: No such file or directory"
            holds 'how to make it' "$said" "→ install -d $T/none, with the owner and the mode of the share's top"
            holds 'and what is above' "$("$A" doctor "$T/none/x")" "→ install -d -m 0700 $T/none; install -d $T/none/x"
            chmod 700 "$T/back"; "$A" mount "$T/back" "$T/mnt"
            holds 'a mount that answers' "$("$A" doctor)" "ok      $T/mnt: "
            p=$(daemon "$T/mnt"); kill -STOP $p; said=$(timeout 30 "$A" doctor); is 'a stopped daemon' 1 $?; kill -CONT $p
            holds 'it does not answer' "$said" "problem $T/mnt: its daemon does not answer"
            mkdir "$T/m;touch x" "$T/other"; chmod 700 "$T/other"; "$A" mount "$T/other" "$T/m;touch x"; kill_daemon "$T/m;touch x"
            holds 'a word of a shell' "$("$A" doctor)" "aclfs unmount '$T/m;touch x' removes it"
            "$A" unmount "$T/m;touch x"
            kill_daemon "$T/mnt"
            said=$("$A" doctor); is 'a dead mount' 1 $?
            holds 'its remedy' "$said" "aclfs unmount $T/mnt removes it"
            "$A" doctor --json | python3 -c 'import json, sys; assert {f["level"] for f in json.load(sys.stdin)} >= {"ok", "problem"}' || echo json
            "$A" unmount "$T/mnt"
            mount -t tmpfs none /dev; mkdir -p "$T/none"
            said=$("$A" doctor); is 'no device' 1 $?
            holds 'which' "$said" 'problem /dev/fuse: '
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// As `aclfs mount` refuses it.
    @Test func theDoctorLooksAtTheMountPoint() throws {
        let result = try MountNamespace().run(
            #"""
            bad() { said=$("$A" doctor "$2" "$3"); is "$1" 1 $?; holds "$1" "$said" "problem $4"; holds "$1: what to do" "$said" "→ $5"; }
            said=$("$A" doctor "$T/back" "$T/mnt"); is 'all is well' 0 $?; holds 'all is well' "$said" "ok      $T/mnt: can be mounted on"
            bad 'not there' "$T/back" "$T/none" "$T/none: No such file or directory" "install -d $T/none"
            touch "$T/file"; bad 'a file' "$T/back" "$T/file" "$T/file: Not a directory" 'name another directory'
            "$A" mount "$T/back" "$T/mnt"; mkdir "$T/mnt/in" "$T/other"
            bad 'in use' "$T/other" "$T/mnt" "$T/mnt: is in use: $T/back is mounted there" 'name another directory'
            bad 'a source on a mount' "$T/mnt/in" "$T/other" "$T/mnt/in: lies in the aclfs mount $T/mnt" "name the directory that it serves ($T/back)"
            holds 'as mount says it' "$("$A" mount "$T/mnt/in" "$T/other" 2>&1)" "lies in the aclfs mount $T/mnt; name the directory that it serves ($T/back)"
            holds 'this too' "$("$A" mount "$T/other" "$T/mnt" 2>&1)" "mount point $T/mnt is in use: $T/back is mounted there"
            kill_daemon "$T/mnt"; case $("$A" doctor "$T/other" "$T/mnt") in *'is in use'*) echo 'a dead mount is replaced' ;; esac
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// With `noowners` or `noacl` what is stored protects nothing, which nobody should find out afterwards.
    @Test func everythingWarnsOfAMountThatIgnoresRules() throws {
        let result = try MountNamespace().run(
            UserMountTests.setup + #"""
                chmod 755 "$T" "$T/back"
                for o in noowners noacl; do
                    case $o in noowners) why='every user may do what flags and ro allow' ;; *) why='a deny refuses no user' ;; esac
                    said=$("$A" mount -o $o "$T/back" "$T/mnt" 2>&1); is "$o" 0 $?; holds "$o: mount" "$said" "warning: $T/mnt: with $o "; holds "$o: mount" "$said" "$why"
                    mkdir "$T/mnt2"; said=$("$A" mount -o $o "$T/back" "$T/mnt2" 2>&1); holds "$o: a second mount" "$said" "warning: $T/mnt2: with $o "; "$A" unmount "$T/mnt2"; rmdir "$T/mnt2"
                    said=$("$A" doctor); is "$o: a note" 0 $?; holds "$o: doctor" "$said" "note    $T/mnt: an aclfs mount with $o: "; holds "$o: doctor" "$said" "$why"
                    holds "$o: a line of fstab" "$("$A" fstab-line -o $o "$T/back" "$T/mnt" 2>&1)" "warning: with $o "
                    mkdir "$T/mnt/d"; touch "$T/mnt/d/f" "$T/mnt/f"; chown -R zed "$T/mnt/d" "$T/mnt/f"
                    for user in '' zed; do
                        said=$($user "$A" chmod +a 'everyone deny delete' "$T/mnt/f" "$T/mnt/d/f" 2>&1); is "$o: chmod $user" 0 $?
                        is "$o: chmod $user" "aclfs: chmod: warning: $T/mnt/f lies on a mount with $o: " "${said%%"$o: "*}$o: "; holds "$o: chmod $user" "$said" "$why"
                        is "$o: once" 1 "$(echo "$said" | wc -l)"
                        $user "$A" chmod -f -N "$T/mnt/f" "$T/mnt/d/f"
                        is "$o: -f" '' "$($user "$A" chmod -f +a 'everyone deny delete' "$T/mnt/f" 2>&1)"
                        holds "$o: a tree" "$($user "$A" propagate "$T/mnt/d" 2>&1)" "warning: $T/mnt/d lies on a mount with $o: "
                    done
                    said=$("$A" chmod 600 "$T/mnt/f" 2>&1; "$A" owner --user zed "$T/mnt/f" 2>&1)
                    case $o in
                    noowners) holds 'a mode' "$said" "chmod: warning: $T/mnt/f lies on a mount with noowners: "; holds 'an owner' "$said" "owner: warning: $T/mnt/f lies on" ;;
                    *) is 'modes and owners count' '' "$said" ;; esac
                    umount "$T/mnt"; rm -rf "$T/back/d" "$T/back/f"
                    "$A" volume "$T/back" $o >/dev/null 2>&1
                    holds "$o: a setting" "$("$A" doctor "$T/back")" "note    $T/back: its settings are $o, for each mount of it: "
                    holds "$o: mounted by it" "$("$A" mount "$T/back" "$T/mnt" 2>&1)" "warning: $T/mnt: with $o "
                    umount "$T/mnt"; "$A" volume --reset "$T/back" >/dev/null
                done
                chmod 700 "$T/back"
                is 'no warning without' '' "$("$A" mount "$T/back" "$T/mnt" 2>&1; touch "$T/mnt/f"; "$A" chmod +a 'everyone deny delete' "$T/mnt/f" 2>&1)"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func theDoctorOfAnOrdinaryUser() throws {
        let result = try MountNamespace().run(
            UserMountTests.setup + #"""
                said=$(zed "$A" doctor "$T/zed/back" "$T/mnt"); is 'all is well' 0 $?; holds 'all is well' "$said" "ok      $T/mnt: can be mounted on"
                mkdir "$T/roots"; install -d -m 1777 "$T/sticky"
                for place in roots sticky; do
                    said=$(zed "$A" doctor "$T/zed/back" "$T/$place"); is "$place" 1 $?
                    holds "$place" "$said" 'fusermount3 refuses it'
                    is "$place: it does" 0 "$(zed "$A" mount "$T/zed/back" "$T/$place" >/dev/null 2>&1 || mounted "$T/$place")"
                done
                install -d -m 700 "$T/closed"; install -d "$T/closed/team"
                said=$(zed "$A" doctor "$T/closed/team" "$T/closed/mnt"); is 'a closed directory' 1 $?
                holds 'which' "$said" "problem $T/closed/team: this user may not search $T/closed"
                holds 'of the mount point' "$said" "problem $T/closed/mnt: this user may not search $T/closed"
                case $said in *install*) echo 'it would change a directory that exists' ;; esac
                "$A" mount "$T/back" "$T/roots"; chmod 755 "$T/roots"
                case $(zed "$A" doctor) in *"$T/roots"*) echo "root's mount is healthy" ;; esac
                said=$(zed "$A" unmount "$T/roots" 2>&1); is "root's mount" 32 $?
                holds "whose it is" "$said" 'mounted by root, and only root may unmount it'
                zed "$A" mount "$T/zed/back" "$T/mnt" 2>/dev/null; holds 'its own' "$(zed "$A" doctor)" "ok      $T/mnt: "
                said=$(other "$A" unmount "$T/mnt" 2>&1); is "zed's mount" 32 $?
                holds "whose it is" "$said" 'mounted by zed, and only zed or root may unmount it'
                zed sh -c 'cd "$0"; ln -s x link; mkfifo pipe; A=$1
                    for change in "chmod -h +a" "chflags -h"; do
                        for file in link pipe; do
                            case $change in chmod*) set -- "everyone deny read" ;; *) set -- hidden ;; esac
                            case $("$A" $change "$1" $file 2>&1) in
                            *"Operation not permitted: links and special files hold no user.aclfs"*) ;;
                            *) echo "$change $file" ;; esac
                        done
                    done' "$T/mnt" "$A"
                zed "$A" unmount "$T/mnt"; rm -rf /tmp/aclfs-61743
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
