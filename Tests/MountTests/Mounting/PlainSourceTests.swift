import TestSupport
import Testing

/// docs/mounting.md "Sources without extended attributes", on exFAT (by its FUSE driver, since few kernels of test machines have one) and on ramfs.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PlainSourceTests {
    private func run(_ script: String) throws {
        let result = try MountNamespace().run(
            """
            as() { local who=$1; shift; "$ACT" $who 20 - -- "$@"; }

            """ + script)
        #expect(result.output == "done", "\(result)")
    }

    @Test(
        .enabled(if: isInstalled("mount.exfat-fuse") && isInstalled("mkfs.exfat"), "no exfat-fuse, exfatprogs"),
        .enabled(if: isInstalled("losetup"), "no losetup"))
    func exFAT() throws {
        try run(
            #"""
            umount /usr/sbin; truncate -s 16M "$T/image"; mkfs.exfat "$T/image" >/dev/null 2>&1
            # The kernel removes the device with its last use.
            loop=$(losetup -f --show "$T/image"); mount.exfat-fuse "$loop" "$T/back" >/dev/null 2>&1; losetup -d "$loop"
            \#(Self.common)
            is 'a new file' 'user mine' "$(as 501 sh -c "echo mine >$S/new; stat -c %F $S/new | grep -q regular && echo user; cat $S/new" | xargs)"
            is 'the owner of the file system' '0 0' "$(stat -c '%u %g' "$S/new")"
            holds 'a link' "$(as 501 ln -s new "$S/link" 2>&1)" 'ln: failed to create symbolic link'
            "$A" unmount "$S"; umount "$T/back"
            """#)
    }

    @Test func ramfs() throws {
        try run(
            #"""
            mount -t ramfs -o mode=700 ramfs "$T/back"
            \#(Self.common)
            "$A" unmount "$S"; umount "$T/back"
            """#)
    }

    /// What holds on every such source.
    private static let common = #"""
        S=$T/mnt; mount() { "$A" mount "$@"; }
        for words in '' -onoacl -onoowners -onoacl,noowners,metadata=user -onoacl,noowners,metadata=trusted; do
            said=$(mount $words "$T/back" "$S" 2>&1); is "refused with <$words>" 32 $?
            case $words in *trusted) ;; *) holds "<$words>" "$said" 'noacl,noowners' ;; esac
        done
        said=$(mount -o noacl,noowners "$T/back" "$S" 2>&1); is 'mounted' 0 $?; holds 'what is missing' "$said" 'no entries and no flags are stored'
        holds 'status' "$("$A" status "$S")" '(metadata in none)'
        # Every user may do what the file system can; programs get the errors of one without attributes.
        is 'alice makes' 0 "$(as 501 sh -c "mkdir $S/d && echo one >$S/d/f"; echo $?)"; is 'bob writes' 0 "$(as 502 sh -c "echo two >>$S/d/f"; echo $?)"
        is 'both' 'one two' "$(as 503 cat "$S/d/f" | xargs)"; as 502 mv "$S/d/f" "$S/g"; is 'moved' 0 "$(as 503 rm "$S/g"; echo $?)"
        as 501 touch "$S/f"; is 'chown is accepted' 0 "$(as 501 chown 502 "$S/f"; echo $?)"
        is 'no entry' 1 "$(as 501 "$A" chmod +a 'user:502 deny read' "$S/f" >/dev/null 2>&1; echo $?)"
        holds 'no flag' "$(as 501 "$A" chflags uchg "$S/f" 2>&1)" "$S/f: "; is 'none is set' '-' "$(getfattr --absolute-names --only-values -n system.aclfs.flags "$S/f")"
        is 'it is not locked' 0 "$(as 502 sh -c "echo x >$S/f"; echo $?)"
        holds 'chattr' "$(chattr +i "$S/f" 2>&1)" 'Operation not supported'; holds 'exclude' "$(as 501 "$A" backup exclude "$S/f" 2>&1)" "$S/f: "
        holds 'attributes' "$(setfattr -n user.note -v x "$S/f" 2>&1)" 'Operation not supported'; is 'nothing listed' '' "$(getfattr --absolute-names -d -m - "$S/f" 2>&1)"
        is 'included' "[Included]    $S/f" "$("$A" backup status "$S/f")"; holds 'no layout' "$("$A" backup layout ios "$S/d" 2>&1)" "$S/d: "
        is 'copied' 0 "$(as 501 cp --preserve=timestamps "$S/f" "$S/copy"; echo $?)"; is 'its content' x "$(cat "$S/copy")"; rm "$S/copy"
        # Read-only still refuses.
        "$A" unmount "$S"; mount -o noacl,noowners,ro "$T/back" "$S" 2>/dev/null
        holds 'read-only' "$(as 501 touch "$S/new" 2>&1)" 'Read-only file system'; is 'kept' x "$(cat "$S/f")"
        "$A" unmount "$S"; mount -o noacl,noowners "$T/back" "$S" 2>/dev/null
        """#

    /// Q16: uid and gid 99 are the caller's, on volumes from elsewhere.
    @Test func unknownOwnersAreWhoeverAsks() throws {
        try run(
            #"""
            S=$T/mnt; umask 0; echo text >"$T/back/f"; mkdir "$T/back/d"; chown 99:99 "$T/back/f" "$T/back/d"; chmod 600 "$T/back/f"; chmod 700 "$T/back/d"
            chmod 755 "$T/back"; "$A" mount "$T/back" "$S" >/dev/null 2>&1
            is 'without the option' 1 "$(as 501 cat "$S/f" >/dev/null 2>&1; echo $?)"; "$A" unmount "$S"
            "$A" mount -o unknown99 "$T/back" "$S" >/dev/null 2>&1
            for who in 501 502; do
                is "$who reads" text "$(as $who cat "$S/f" 2>&1)"; is "$who makes" 0 "$(as $who touch "$S/d/$who"; echo $?)"
                chmod 600 "$S/d/$who"; is "$who is the owner of what was made" $who "$(stat -c %u "$S/d/$who")"
                is "$who may chmod" 0 "$(as $who chmod 600 "$S/f"; echo $?)"
                is "$who may not give it away" 1 "$(as $who chown 503 "$S/f" 2>/dev/null; echo $?)"
            done
            is 'of another user' '' "$(as 502 sh -c "echo x >$S/d/501 && echo written" 2>/dev/null)"
            """#)
    }
}
