import TestSupport
import Testing

private let hasBtrfs =
    (try? Spawn.run(["sh", "-c", "command -v mkfs.btrfs && command -v btrfs && grep -qw btrfs /proc/filesystems"]))?.status == 0

/// On btrfs the objects of a subvolume have another device number than the mount table gives for their mount.
@Suite(
    .serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"),
    .enabled(if: hasBtrfs, "needs btrfs-progs and the kernel's btrfs"))
struct SandboxRunBtrfsTests {
    private static let disk = #"""
        # Where mkfs.btrfs is.
        umount /usr/sbin
        truncate -s 160M "$T/image"; mkfs.btrfs -q "$T/image" >/dev/null 2>&1; mkdir "$T/disk" "$T/elsewhere"
        mount -o loop "$T/image" "$T/disk" || { echo 'no loop device'; exit; }
        btrfs subvolume create "$T/disk/volume" >/dev/null; BACK=$T/disk/volume/back; mkdir -p "$BACK/home"
        trap 'leave; umount -l "$T/disk"' EXIT

        """#

    @Test func aShareInASubvolume() throws {
        let result = try SandboxRunScript.run(
            Self.disk + #"""
                echo treasure >"$BACK/secret"; echo text >"$T/disk/volume/beside"; chmod -R a+rwX "$T/disk"
                "$A" mount "$BACK" "$SHARE" 2>/dev/null
                for who in ann as_root; do
                    holds "$who, through the share" "$(run $who -- cat "$SHARE/secret" 2>&1)" 'Operation not permitted'
                    holds "$who, behind it" "$(run $who -- cat "$BACK/secret" 2>&1)" 'Operation not permitted'
                    is "$who, beside it" text "$(run $who -- cat "$T/disk/volume/beside" 2>&1)"
                    holds "$who, a descriptor" "$(run $who -- cat 2>&1 <"$BACK/secret")" 'a file in the backing directory'
                    is "$who, one from beside it" text "$(run $who -- cat 2>&1 <"$T/disk/volume/beside")"
                done
                # Of a file of a mount that is not visible here the path is unknown: the file system alone decides.
                outer=$$
                elsewhere() {
                    unshare -m sh -c 'mount --bind "$1/disk" "$1/elsewhere"; exec <"$1/elsewhere/$2"; shift 2; exec "$@"' - "$T" "$@"
                }
                for file in volume/back/secret volume/beside; do
                    said=$(elsewhere "$file" nsenter --mount=/proc/$outer/ns/mnt "$A" sandbox run "$P" --mount "$SHARE" -- cat 2>&1)
                    is "$file from another namespace" 2 $?; holds "$file" "$said" 'a file that has no path here'
                done
                """#)
        #expect(result.output == "done", "\(result)")
    }

    /// Which the kernel makes for any user who owns the subvolume's top, and which holds what is covered.
    @Test(arguments: ["ann", "as_root"]) func noProcessInsideMakesASnapshot(_ who: String) throws {
        let result = try SandboxRunScript.run(
            Self.disk
                + #"""
                echo treasure >"$BACK/secret"; chmod -R a+rwX "$BACK"; [ WHO = as_root ] || chown -R $ANN:$ANN "$T/disk/volume"
                "$A" mount "$BACK" "$SHARE" 2>/dev/null
                snapshot() { echo "btrfs subvolume snapshot $T/disk/volume $T/disk/volume/$1 >/dev/null; $ESCAPE snapshot $T/disk/volume $T/disk/volume $1-old; cat $T/disk/volume/$1*/back/secret"; }
                is 'inside' '' "$(run WHO -- sh -c "$(snapshot inside)" 2>/dev/null)"; is 'none is made' '' "$(ls "$T/disk/volume" | grep inside)"
                holds 'the reason' "$(run WHO -- btrfs subvolume snapshot "$T/disk/volume" "$T/disk/volume/inside" 2>&1)" 'Operation not permitted'
                is 'a subvolume of its own' 0 "$(status run WHO -- btrfs subvolume create "$T/disk/volume/new")"
                is 'outside' 'treasure treasure' "$(WHO sh -c "$(snapshot outside)" | xargs)"
                # Deleted, one takes the covers in it along.
                mount -o remount,user_subvol_rm_allowed "$T/disk" || fail 'no remount'
                holds 'none is deleted' "$(run WHO -- btrfs subvolume delete "$T/disk/volume/new" 2>&1)" 'Operation not permitted'
                is 'outside it is' 0 "$(status WHO btrfs subvolume delete "$T/disk/volume/new")"
                settle 1
                """#.replacing("WHO", with: who))
        #expect(result.output == "done", "\(result)")
    }
}
