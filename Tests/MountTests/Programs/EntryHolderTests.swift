import Foundation
import TestSupport
import Testing

/// Ordinary programs of a user whom only an entry lets in, as README.md has it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct EntryHolderTests {
    private let fixture: MountFixture
    private let own: String

    init() throws {
        fixture = try MountFixture()
        own = fixture.top + "/own"
        try Spawn.run(["install", "-d", "-o", "502", "-g", "20", "-m", "0755", own]).check()
    }

    /// Runs commands as root, then others as bob, with the mount as $M, bob's own directory as $O and aclfs as $A.
    private func run(_ setup: String, asBob script: String) throws -> CommandResult {
        let words =
            "A='\(MountTesting.program("aclfs"))' M='\(fixture.mountpoint)' O='\(own)' HOME='\(own)' LC_ALL=C; export HOME LC_ALL; umask 022; cd /\n"
        try Spawn.run(["sh", "-euc", words + setup]).check()
        return try TestUser.bob.shell(words + "exec 2>&1\n" + script)
    }

    /// The listing is empty without readextattr, and a program that copies attributes has none to copy. Values stay refused.
    @Test func copiesWithReadAlone() throws {
        let result = try run(
            """
            mkdir "$M/d"; echo x >"$M/d/f"; echo m >"$M/d/moved"; setfattr -n user.note -v secret "$M/d/f"; chmod 700 "$M/d"; chmod 600 "$M/d/"*
            "$A" chmod +a 'user:502 allow list,search,readattr,delete_child' "$M/d"
            for f in f moved; do "$A" chmod +a 'user:502 allow read' "$M/d/$f"; done
            """,
            asBob: """
                for tool in python3 rsync tar bsdtar cp mv getfattr; do command -v $tool >/dev/null || eval "$tool() { :; }"; done
                python3 -c 'import os, shutil, sys; shutil.copy2(sys.argv[1], sys.argv[2]); assert os.listxattr(sys.argv[1]) == []' "$M/d/f" "$O/p" || echo python
                rsync -aX "$M/d/" "$O/r/" || echo rsync -aX
                rsync -aAX "$M/d/" "$O/ra/" || echo rsync -aAX
                tar --xattrs --acls -cf "$O/t.tar" -C "$M" d || echo tar
                bsdtar -cf "$O/b.tar" -C "$M" d || echo bsdtar
                cp -a "$M/d" "$O/c" || echo cp -a
                cp --preserve=all "$M/d/f" "$O/cp" || echo cp
                mv "$M/d/moved" "$O/moved" || echo mv
                getfattr -d -m - "$M/d/f"
                getfattr -n user.note "$M/d/f" >/dev/null 2>&1 && echo read
                cat "$O/moved"
                """)
        #expect(result.output == "m", "\(result)")
    }

    /// In a directory whose group the caller is not in, set-gid of a directory of that group is dropped
    /// (docs/decisions/0032-the-set-gid-bit-of-a-folder.md).
    @Test func setGroupIDWithoutMembership() throws {
        let result = try run(
            """
            install -d -g 700 -m 750 "$M/g"
            "$A" chmod +a 'user:502 allow list,add_file,search,add_subdirectory,delete_child,readattr,writeattr,readextattr,writeextattr' "$M/g"
            mkdir -p "$O/s/sub"; chown -R 502:20 "$O/s"; chmod 2775 "$O/s" "$O/s/sub"
            """,
            asBob: """
                ! command -v git >/dev/null || git init -q --shared "$M/g/repository" || echo git
                mkdir -m 2775 "$M/g/made" || echo mkdir -m
                ! command -v rsync >/dev/null || rsync -a "$O/s/" "$M/g/rsync/" || echo rsync
                tar -C "$O" -cf - s | tar -C "$M/g" -xpf - || echo tar
                stat -c '%n %a %g' "$M/g/made" "$M/g/s/sub" | sed "s:$M/g/::"
                chmod 2755 "$M/g/s/sub" && stat -c '%a %g' "$M/g/s/sub"
                touch "$M/g/tool"; chmod 2755 "$M/g/tool" 2>/dev/null || echo not a file
                """)
        #expect(result.output == "made 775 700\ns/sub 775 700\n755 700\nnot a file", "\(result)")
        // Of a group of another place it stays refused, and so does the root of the mount. A member keeps the bit.
        let other = try run(
            "chgrp 701 \"$M/g/made\"; chgrp 20 \"$M/g/s\"; chown 502:700 \"$M\"",
            asBob: """
                chmod 2775 "$M/g/made" 2>/dev/null || echo refused; chmod 2775 "$M" 2>/dev/null || echo refused
                chmod 2775 "$M/g/s"; stat -c %a "$M/g/s"
                """)
        #expect(other.output == "refused\nrefused\n2775", "\(other)")
    }
}
