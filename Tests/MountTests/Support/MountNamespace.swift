import TestSupport
import Testing

/// Shell scripts in a mount namespace of their own, where helpers are installed, fstab is ours and everybody may
/// open /dev/fuse, without a change to the system's files.
///
/// A script says what it expects with `is NAME EXPECTED ACTUAL` and `holds NAME TEXT PART`, which print what is
/// not so; the Swift side expects the output `done`.
final class MountNamespace {
    private let directory: ScratchDirectory
    var top: String { directory.path }

    init() throws { directory = try ScratchDirectory("namespace") }

    func run(_ script: String) throws -> CommandResult {
        defer { TestMounts.endDaemons(below: top) { Issue.record(Comment(rawValue: $0)) } }
        return try Spawn.run(
            [
                "unshare", "-m", "--propagation", "slave", "bash", "-uc", Self.prelude + script + "\necho done",
                "script", top, MountTesting.program("aclfs"), MountTesting.program("aclfs-act"),
            ])
    }

    private static let prelude = #"""
        \#(TestMounts.leaving)
        # aclfsd, which serves, lies beside A.
        T=$1; A=$2; ACT=$3
        # What others have mounted would live on in our copy of it.
        awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts | while read -r m; do umount -lc "$(printf "$m")" 2>/dev/null; done
        leave() { leave_mounts "$T"; }
        trap leave EXIT
        is() { [ "$2" = "$3" ] || echo "$1: expected <$2>, got <$3>"; }
        holds() { case $2 in *"$3"*) ;; *) echo "$1: expected …$3…, got <$2>" ;; esac; }
        status() { "$@" >/dev/null 2>&1; echo $?; }
        options() { awk -v at="$1" '$2 == at { line = $4 } END { print line }' /proc/self/mounts; }
        mounted() { awk -v at="$1" '$2 == at' /proc/self/mounts | wc -l; }
        # The daemons that serve a mount point and their keepers, by a word of their arguments.
        kept() {
            grep -lzxF -- "$1" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | while read -r p; do
                [ "$(readlink /proc/$p/exe)" = "$(readlink -f "${2:-${A}d}")" ] && echo $p
            done
        }
        # The daemons alone: a keeper has one as its child.
        daemon() { for p in $(kept "$@"); do [ -n "$(cat /proc/$p/task/*/children 2>/dev/null)" ] || echo $p; done; }
        # And the keepers, which would start others.
        kill_now() { [ $# = 0 ] || { kill -STOP "$@"; kill -9 "$@"; } 2>/dev/null; }
        kill_daemon() {
            kill_now $(kept "$@")
            # Until the kernel has noticed, too.
            for i in $(seq 1500); do
                stat "$1" 2>&1 | grep -q 'not connected\|Permission denied' && return
                sleep 0.02
            done
        }
        # Mounts are on their own file system, so that nothing outside is in the way.
        mount -t tmpfs -o mode=755 tmpfs "$T"
        # Nor are others' questions to our daemons.
        mkdir -p /run/aclfs; mount -t tmpfs -o mode=755 tmpfs /run/aclfs
        mkdir -p "$T/back" "$T/mnt" "$T/sbin" "$T/bin"
        chmod 700 "$T/back"
        # As `make install` does, and what the package fuse3 has.
        cp -a /usr/sbin/mount.fuse* "$T/sbin/"
        ln -s "${A}d" "$T/sbin/mount.aclfs"; ln -s "${A}d" "$T/sbin/mount.fuse.aclfs"
        mount --bind "$T/sbin" /usr/sbin
        touch "$T/fstab"
        mount --bind "$T/fstab" /etc/fstab

        """#
}
