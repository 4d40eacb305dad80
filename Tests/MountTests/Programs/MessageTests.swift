import Foundation
import Glibc
import TestSupport
import Testing

/// What the commands print acts on no terminal, whoever chose the words in it (docs/reference/security.md "What a terminal is shown").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct MessageTests {
    /// An escape sequence, a carriage return, a line that could pass for one of ours, controls of C1, marks that turn lines round, a byte
    /// that is no text. Shell's way to write it.
    private static let evil = #"$'e\x1b[31m\x1b]0;t\x07\r\nEVIL\xc2\x9b31m\xe2\x80\xaer\xe2\x81\xa6\xe2\x80\xa8\x7f\xff'"#

    /// The bytes of both outputs.
    private func output(_ script: String) throws -> [UInt8] {
        var template = Array("/tmp/aclfs-output.XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else { throw FixtureError("no file for output: errno \(errno)") }
        unlink(template)
        defer { close(file) }
        let words = ["bash", "-uc", "A=$1; E=\(Self.evil)\n" + script, "script", MountTesting.program("aclfs")]
        _ = Spawn.wait(try Spawn.start(words, descriptors: [-1, file, file]))
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        bytes.removeLast(bytes.count - max(0, pread(file, &bytes, bytes.count, 0)))
        return bytes
    }

    /// What is wrong with it, if anything is.
    private func problem(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return "no text: \(bytes)" }
        let unsafe = text.unicodeScalars.first { scalar in
            switch scalar.value {
            case 0x0A, 0x09: false
            case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
            default: false
            }
        }
        if let unsafe { return "U+\(String(unsafe.value, radix: 16)) in \(text.debugDescription)" }
        if text.split(separator: "\n").contains(where: { $0.hasPrefix("EVIL") }) { return "a line of its own: \(text.debugDescription)" }
        return text.isEmpty ? "nothing is said" : nil
    }

    @Test func wrongWordsOfAllCommands() throws {
        let scripts = [
            #""$A" "$E""#, #""$A" "/$E""#, #""$A" "-$E""#, #""$A" "/$E" x"#, #""$A" mount "$E" /tmp"#, #""$A" mount /tmp "$E""#,
            #""$A" mount "-$E" /tmp /tmp"#,
            #""$A" unmount "$E""#, #""$A" unmount "--$E""#, #""$A" unmount / "$E""#, #""$A" status "$E""#, #""$A" status "--$E""#,
            #""$A" status --json="$E""#,
            #""$A" explain "$E" /tmp"#, #""$A" explain stat "$E""#, #""$A" explain --as "$E" stat /tmp"#, #""$A" explain "--$E" stat /tmp"#,
            #""$A" explain --last "$E""#, #""$A" explain --who-can "$E" /tmp"#, #""$A" explain stat / / "$E""#, #""$A" effective "$E""#,
            #""$A" effective --as "$E" "/$E""#, #""$A" chmod "$E" /tmp"#, #""$A" chmod 700 "$E""#, #""$A" chmod "-$E" /tmp"#,
            #""$A" chmod +a "$E" /tmp"#, #""$A" chmod +a# "$E" x /tmp"#, #""$A" chmod -v 700 "$E""#, #"echo "$E" | "$A" chmod -E "/$E""#,
            #""$A" chflags "$E" /tmp"#,
            #""$A" chflags hidden "$E""#, #""$A" chflags "-$E" x /tmp"#, #""$A" ls "$E""#, #""$A" ls "--$E""#, #""$A" backup "$E""#,
            #""$A" backup status "$E""#, #""$A" backup exclude "$E""#, #""$A" backup list "--format=$E" /tmp"#, #""$A" backup list "$E""#,
            #""$A" backup layout "$E" /tmp"#, #""$A" backup layout ios "$E""#, #""$A" backup status --offline "$E""#, #""$A" purge "$E""#,
            #""$A" purge --older-than "$E" /tmp"#, #""$A" purge "--$E""#,
            #""$A" acl "$E""#, #""$A" acl export "/$E""#, #""$A" acl export --from-mac "/$E""#, #""$A" acl diff --offline "/$E" /tmp"#,
            #""$A" acl diff --offline --ignore "$E" /tmp /tmp"#,
            #""$A" acl import "/$E" /tmp"#, #""$A" acl import --unknown "$E" - /tmp"#, #""$A" acl copy "/$E" /tmp"#,
            #""$A" acl remap --offline "$E" "$E" /tmp"#,
            #"printf '%s\n' "$E" | "$A" acl import --offline - /tmp"#,
            #"printf '%s\n' "$E" "-rw-r--r--  1 $E  b  - 1 Nov 26 10:00 $E?" | "$A" acl export --from-mac -"#,
            #""$A" acl import --posix --dry-run "$E""#, #""$A" acl import --posix --undo-file "/$E/x" /tmp"#,
            #""$A" acl import --posix --dry-run --metadata "$E" /tmp"#, #""$A" restore "$E""#, #""$A" restore "--$E" x"#,
            #""$A" report "$E""#, #""$A" report "/$E""#, #""$A" report "--$E" /tmp"#, #""$A" report -o "/proc/$E" /tmp"#,
            #""$A" report -o "/none/$E/x" /tmp"#, #""$A" report --offline --metadata "$E" -o /tmp/none/x /tmp"#,
            #""$A" doctor "$E""#, #""$A" doctor --json "$E""#, #""$A" fstab-line "$E" /tmp"#, #""$A" fstab-line -o "$E" /tmp /mnt"#,
            #""$A" sandbox "$E""#, #""$A" sandbox check "$E""#, #""$A" sandbox check "/$E""#, #""$A" sandbox check --layout "$E" x"#,
            #""$A" sandbox check --bundle "$E" x"#, #""$A" sandbox list "--$E""#, #""$A" sandbox grant "$E""#,
            #""$A" sandbox grant add --bundle "$E" --read-only /tmp"#,
            #""$A" sandbox grant add --bundle a.b --read-only --expires "$E" /tmp"#,
            #""$A" sandbox grant add --bundle a.b --read-only "$E""#,
            #""$A" sandbox grant list "$E""#, #""$A" sandbox grant list --bundle "$E""#, #""$A" sandbox grant remove --bundle a.b "$E""#,
            #""$A" sandbox run "$E" -- true"#, #""$A" sandbox run "--$E" x -- true"#, #""$A" sandbox run "/$E" --mount "$E" -- true"#,
            #"cd /tmp && mkdir -p "m$E" && cd "m$E" && "$A" explain --last; "$A" chmod "$E" .; rmdir "/tmp/m$E""#,
            #"D=$(mktemp -d); ln -s "$A" "$D/mount.aclfs"; "$D/mount.aclfs" "/$E" "/$E" -o nofail; "$D/mount.aclfs" /tmp "/$E" -o "$E"; rm -r "$D""#,
        ]
        for script in scripts {
            let problem = try problem(output(script))
            #expect(problem == nil, "\(script): \(problem ?? "")")
        }
    }

    @Test(arguments: [
        "$E", "$E=1", "cache=$E", "audit=$E", "audit=all,audit_log=$E", "audit=all,audit_log=/none/$E", "audit_limit=$E", "groups=$E",
        "securelevel=$E", "zerofill_max=$E",
        "kernel_features=$E", "sandbox=$E", "sandbox=/$E", "layout=$E,sandbox=x", "bundle=$E,sandbox=/x", "home=$E,sandbox=/x", "ro=$E",
        "export=$E", "default_permissions=$E", "source_mode=$E", "metadata=$E",
    ])
    func wrongMountOptions(_ words: String) throws {
        let problem = try problem(output(#""$A" mount -o "\#(words)" /tmp /tmp/none"#))
        #expect(problem == nil, "\(problem ?? "")")
    }

    /// Names on a mount, of mounts, and in what was refused.
    @Test func namesOnAMount() throws {
        let fixture = try MountFixture()
        let act = TestUser.alice.arguments.map { "'\($0)'" }.joined(separator: " ")
        func said(_ script: String) throws -> String? {
            try problem(output("M='\(fixture.mountpoint)'; T='\(fixture.top)'; alice() { \(act) -- \"$@\"; }\n" + script))
        }
        #expect(try said(#"echo >"$M/$E"; mkdir "$M/d$E"; chmod 700 "$M/$E" "$M/d$E"; "$A" ls -le@ "$M""#) == nil)
        for script in [
            #""$A" ls -R "$M" "$M/d$E""#, #""$A" explain stat "$M/$E""#,
            #""$A" explain --who-can stat "$M/$E" | head -3; "$A" explain stat "$M/$E/x""#,
            #""$A" effective "$M/d$E/x""#, #""$A" chmod -v 711 "$M/$E""#, #""$A" chmod -R -v 700 "$M""#, #""$A" chflags -v hidden "$M/$E""#,
            #""$A" chmod +a "$E allow read" "$M/$E""#, #""$A" chflags "$E" "$M/$E""#,
            #""$A" backup status "$M/$E"; "$A" backup exclude "$M/$E"; "$A" backup list "$M""#,
            #"alice cat "$M/$E" 2>/dev/null; alice cat "$M/d$E/x" 2>/dev/null; "$A" explain --last "$M""#,
            #"setfattr -n "user.$E" -v x "$M/$E" 2>/dev/null; "$A" ls -l@ "$M""#,
        ] {
            #expect(try said(script) == nil, "\(script)")
        }
        // A mount point whose name is one.
        #expect(
            try said(
                #"""
                mkdir "$T/m$E" "$T/back$E"; "$A" mount -o "fsname=f$E" "$T/back$E" "$T/m$E"; "$A" status "$T/m$E"; "$A" status
                (cd "$T/m$E" && "$A" unmount "$T/m$E"); "$A" mount "$T/back$E" "$T/m$E"; "$A" explain stat "$T/m$E/x"; "$A" unmount "$T/m$E/."; "$A" unmount "$T/m$E"
                "$A" unmount "$T/m$E"; umount -l "$T/m$E" 2>/dev/null; true
                """#) == nil)
    }

    /// What fusermount3 says has the mount point in it as it is.
    @Test func whatTheHelperOfOrdinaryUsersSays() throws {
        let result = try MountNamespace().run(
            UserMountTests.setup.replacing("61743", with: "61756")
                + #"""
                E=$'e\x1b[31m\x07'; trap 'leave; rm -rf /tmp/aclfs-61756' EXIT; unset XDG_RUNTIME_DIR
                mkdir "$T/roots$E"; said=$(zed "$A" mount "$T/zed/back" "$T/roots$E" 2>&1); is 'refused' 32 $?
                is 'no escape' '' "$(printf %s "$said" | LC_ALL=C tr -d '\n\040-\176\200-\377')"; holds 'named' "$said" '\x1b[31m\x07'
                holds 'and why' "$said" 'fusermount3: '
                mkdir "$T/zeds$E"; chown 61756:61756 "$T/zeds$E"; zed "$A" mount "$T/zed/back" "$T/zeds$E" 2>/dev/null; is 'mounted' 0 $?
                said=$(zed sh -c 'cd "$1" && "$0" unmount "$1"' "$A" "$T/zeds$E" 2>&1); is 'busy' 32 $?
                is 'no escape there' '' "$(printf %s "$said" | LC_ALL=C tr -d '\n\040-\176\200-\377')"; holds 'named there' "$said" '\x1b[31m\x07'
                is 'unmounted' 0 "$(zed "$A" unmount "$T/zeds$E" >/dev/null 2>&1; echo $?)"
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
