import TestSupport

/// A share that a user's sandboxes are made on: its backing directory is open to all, lies below directories that the user may
/// rename, and is seen at many places, so that nothing but the sandbox stands in the way.
enum SandboxRunScript {
    static func run(_ script: String) throws -> CommandResult {
        try MountNamespace().run(
            "ESCAPE=\(MountTesting.program("aclfs-escape"))\nBUNDLE=org.example.App\n" + setup + script
                // What a sandbox makes where her sockets would lie.
                + "\nrmdir \"/tmp/aclfs-$ANN\" 2>/dev/null")
    }

    private static let setup = #"""
        # Where root's daemons keep grants and have their sockets: those of other tests may stand still.
        mount -t tmpfs -o mode=755 tmpfs /var/lib; mount -t tmpfs -o mode=755 tmpfs /run
        # No other test's user, so that her processes can be counted.
        ANN=$((110000 + $$))
        cp "$A" "${A}d" "$T/bin"; cp "$ESCAPE" "$T/bin/aclfs-escape"; A=$T/bin/aclfs; ESCAPE=$T/bin/aclfs-escape
        printf '<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>%s</dict></plist>' \
            '<key>com.apple.security.app-sandbox</key><true/>' >"$T/closed.entitlements"
        printf '<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>%s%s</dict></plist>' \
            '<key>com.apple.security.app-sandbox</key><true/>' \
            '<key>com.apple.security.files.downloads.read-write</key><true/>' >"$T/downloads.entitlements"
        P=$T/closed.entitlements; CONTAINER=home/Library/Containers/$BUNDLE/Data
        BACK=$T/holder/inner/back; SHARE=$T/mnt; SCRATCH=$T/holder/scratch
        (umask 0; mkdir -p "$BACK/home/Downloads" "$BACK/sub" "$SCRATCH")
        chown -R $ANN:$ANN "$T/holder" "$SHARE"
        ann() { "$ACT" $ANN $ANN - -- "$@"; }
        as_root() { "$@"; }
        # run WHO OPTION… -- COMMAND…
        run() { local who=$1; shift; $who "$A" sandbox run "$P" --bundle "$BUNDLE" --home /home --mount "$SHARE" "$@"; }
        # As ann, in the place of the shell: its process is the command's own.
        become() { exec "$ACT" $ANN $ANN - -- "$A" sandbox run "$P" --bundle "$BUNDLE" --home /home --mount "$SHARE" "$@"; }
        await() { for i in $(seq 1500); do eval "$1" 2>/dev/null && return; sleep 0.02; done; echo "in vain: $1"; }
        # Sandboxes have the mount point among their words, too.
        server() { for p in $(daemon "$SHARE"); do [ "$(tr '\0' '\n' <"/proc/$p/cmdline" | sed -n 2p)" = mount ] && echo "$p"; done | head -1; }
        # How many sessions of FUSE the daemon of the share holds.
        sessions() { ls -l "/proc/$(server)/fd" 2>/dev/null | grep -c /dev/fuse; }
        # Until the views of sandboxes that have ended are gone.
        settle() { for i in $(seq 1500); do [ "$(sessions)" = "$1" ] && return; sleep 0.02; done; echo "sessions: $(sessions), not $1"; }
        treasures() {
            echo treasure >"$SHARE/secret"; echo treasure >"$SHARE/sub/secret"; chmod 666 "$SHARE/secret" "$SHARE/sub/secret"
            chown -R $ANN:$ANN "$BACK"
        }

        """#
}
