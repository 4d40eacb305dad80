import TestSupport
import Testing

/// docs/reference/mounting.md "Sources without extended attributes", on exFAT (by its FUSE driver, since few kernels of test machines have one) and on ramfs.
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

    /// The bits of FAT are flags: set and read by either side, and binding. The source is a file system of this repository that answers the
    /// calls of FAT as the kernel does.
    @Test func theBitsOfFATAreFlags() throws {
        try run(
            #"""
            mkdir "$T/disk"; "\#(MountTesting.program("aclfs-fat"))" "$T/disk" "$T/back" || echo 'no source'
            \#(Self.common.replacing("'no entries and no flags are stored'", with: "'no entries and no flags are stored except uchg and hidden'")
                .replacing(Self.withoutFlags, with: ""))
            bits() { python3 -c '
            import fcntl, os, struct, sys
            fd = os.open(sys.argv[1], os.O_RDONLY)
            if sys.argv[2:]: fcntl.ioctl(fd, 0x40047211, struct.pack("I", int(sys.argv[2])))
            print(struct.unpack("I", fcntl.ioctl(fd, 0x80047210, b"\0\0\0\0"))[0])' "$@"; }
            flag() { getfattr --absolute-names --only-values -n system.aclfs.flags "$S/$1"; }
            as 501 sh -c "echo one >$S/f; mkdir -p $S/d"
            is 'none' '- -' "$(flag f) $(flag d)"; is 'set' 0 "$(as 501 "$A" chflags uchg,hidden "$S/f"; echo $?)"
            is 'shown' 'uchg,hidden' "$(flag f)"; is 'on the source' 35 "$(bits "$T/back/f")"
            for words in "echo x >>$S/f" "rm $S/f" "mv $S/f $S/g" "touch $S/f"; do holds "$words" "$(as 502 sh -c "$words" 2>&1)" 'Operation not permitted'; done
            is 'it is kept' one "$(cat "$S/f")"; is 'cleared' 0 "$(as 502 "$A" chflags nouchg "$S/f"; echo $?)"
            is 'hidden is left' hidden "$(flag f)"; is 'on the source' 34 "$(bits "$T/back/f")"; is 'written' 0 "$(as 502 sh -c "echo two >>$S/f"; echo $?)"
            # On the source, without another ctime.
            bits "$T/back/f" 33 >/dev/null; is 'set there' uchg "$(flag f)"; holds 'it binds' "$(as 502 sh -c "echo x >>$S/f" 2>&1)" 'Operation not permitted'
            bits "$T/back/f" 32 >/dev/null; is 'cleared there' - "$(flag f)"; is 'free' 0 "$(as 502 sh -c "echo x >>$S/f"; echo $?)"
            # What no bit stands for is refused, and nothing is changed; chattr sets root's flag.
            holds 'chattr' "$(chattr +i "$S/f" 2>&1)" 'Operation not supported'
            for word in uappnd schg arch nodump opaque; do "$A" chflags hidden,$word "$S/f" 2>/dev/null && echo "$word is set"; done
            is 'nothing' - "$(flag f)"; is 'a folder is hidden' 0 "$(as 501 "$A" chflags hidden "$S/d"; echo $?)"; is 'a folder' hidden "$(flag d)"
            holds 'not locked' "$(as 501 "$A" chflags uchg "$S/d" 2>&1)" "$S/d: "; is 'as before' hidden "$(flag d)"
            bits "$T/back/d" 17 >/dev/null; is 'Windows marks folders' - "$(flag d)"; is 'with contents' 0 "$(as 502 touch "$S/d/new"; echo $?)"
            # The read-only bit is no mode: chmod, as in cp -p of a file of mode 0444, locks nothing.
            is 'chmod' 0 "$(as 501 chmod 444 "$S/f"; echo $?)"; is 'is no lock' - "$(flag f)"; is 'written' 0 "$(as 502 sh -c "echo x >>$S/f"; echo $?)"
            "$A" chflags uchg "$S/f"; is 'chmod' 1 "$(chmod 644 "$S/f" 2>/dev/null; echo $?)"; is 'locked still' uchg "$(flag f)"
            # A file system below has flags of its own, and a FIFO there is not opened, which would wait or tell its writer.
            mkdir "$T/back/other"; command mount -t tmpfs tmpfs "$T/back/other"; mkfifo "$T/back/other/pipe"; echo x >"$T/back/other/f"; sleep 1.2
            is 'flags of its own' 0 "$("$A" chflags uappnd "$S/other/f"; echo $?)"; is 'they are shown' uappnd "$(flag other/f)"
            is 'a mode, too' 640 "$("$A" chflags 0 "$S/other/f"; chmod 640 "$S/other/f"; stat -c %a "$S/other/f")"
            is 'a FIFO' fifo "$(stat -c %F "$S/other/pipe")"
            "$A" unmount "$S"; umount "$T/back/other"; "$A" mount -o noacl,noowners "$T/back" "$S" >/dev/null 2>&1; is 'stored' uchg "$(flag f)"; "$A" chflags 0 "$S/f"
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
        \#(withoutFlags)
        is 'it is not locked' 0 "$(as 502 sh -c "echo x >$S/f"; echo $?)"; holds 'exclude' "$(as 501 "$A" backup exclude "$S/f" 2>&1)" "$S/f: "
        holds 'attributes' "$(setfattr -n user.note -v x "$S/f" 2>&1)" 'Operation not supported'; is 'nothing listed' '' "$(getfattr --absolute-names -d -m - "$S/f" 2>&1)"
        is 'included' "[Included]    $S/f" "$("$A" backup status "$S/f")"; holds 'no layout' "$("$A" backup layout ios "$S/d" 2>&1)" "$S/d: "
        is 'copied' 0 "$(as 501 cp --preserve=timestamps "$S/f" "$S/copy"; echo $?)"; is 'its content' x "$(cat "$S/copy")"; rm "$S/copy"
        # Read-only still refuses.
        "$A" unmount "$S"; mount -o noacl,noowners,ro "$T/back" "$S" 2>/dev/null
        holds 'read-only' "$(as 501 touch "$S/new" 2>&1)" 'Read-only file system'; is 'kept' x "$(cat "$S/f")"
        "$A" unmount "$S"; mount -o noacl,noowners "$T/back" "$S" 2>/dev/null
        """#

    private static let withoutFlags = #"""
        holds 'no flag' "$(as 501 "$A" chflags uchg "$S/f" 2>&1)" "$S/f: "; is 'none is set' '-' "$(getfattr --absolute-names --only-values -n system.aclfs.flags "$S/f")"; holds 'chattr' "$(chattr +i "$S/f" 2>&1)" 'Operation not supported'
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
