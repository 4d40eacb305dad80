import Foundation
import TestSupport
import Testing

/// `aclfs` and `aclfsd`: what each contains, and how they find each other (docs/decisions/0039-two-programs.md).
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse")) struct TwoProgramsTests {
    /// The symbols of a program with its debug information, the libraries that it links besides.
    private static func contents(of program: String) throws -> String {
        let path = MountTesting.program(program)
        let result = try Spawn.run(["sh", "-c", "nm -P \"$1\" && ldd \"$1\"", "sh", path])
        return result.output
    }

    /// A module shows in the mangled names of its functions.
    private static func has(_ module: String, _ contents: String) -> Bool { contents.contains("$s\(module.count)\(module)") }

    @Test(.enabled(if: isInstalled("nm"), "no nm (apt install binutils)")) func whatServesHasNothingOfTheCommands() throws {
        let contents = try Self.contents(of: "aclfsd")
        for module in ["ACLFileSystem", "MountDaemon"] { #expect(Self.has(module, contents), "\(module)") }
        for module in ["Commands", "SandboxProfiles", "SandboxRun", "Conformance", "ArgumentParser", "FoundationEssentials"] {
            #expect(!Self.has(module, contents), "\(module)")
        }
        #expect(contents.contains("libfuse3") && !contents.contains("libFoundation"))
    }

    @Test(.enabled(if: isInstalled("nm"), "no nm (apt install binutils)")) func whatPeopleTypeDoesNotServe() throws {
        let contents = try Self.contents(of: "aclfs")
        for module in ["Commands", "SandboxRun", "SandboxProfiles"] { #expect(Self.has(module, contents), "\(module)") }
        for module in ["ACLFileSystem", "MountDaemon", "FuseSession"] { #expect(!Self.has(module, contents), "\(module)") }
        #expect(!contents.contains("libfuse3"))
    }

    @Test func eachSaysThatTheOtherIsMissing() throws {
        let result = try MountNamespace().run(
            #"""
            mkdir "$T/lone" "$T/lone/bin"; cp "$A" "$T/lone/bin"; B=$T/lone/bin/aclfs
            # What stands on PATH does not count.
            export PATH="$(dirname "$A"):$PATH"
            for call in "mount $T/back $T/mnt" "$T/back $T/mnt -o rw"; do
                said=$("$B" $call 2>&1); is "$call" 2 $?; holds "$call" "$said" "aclfs: the program aclfsd is missing: it is not in $T/lone/bin or $T/lone/sbin or $T/lone/libexec"
            done
            ln -s "$B" "$T/lone/mount.aclfs"; said=$("$T/lone/mount.aclfs" "$T/back" "$T/mnt" 2>&1); is 'the helper' 2 $?
            holds 'the helper' "$said" 'aclfsd is missing'
            said=$("$B" doctor 2>&1); is 'doctor' 1 $?; holds 'doctor' "$said" 'problem aclfsd: the program aclfsd is missing'
            is 'help needs none' 0 "$(status "$B" mount --help)"
            # Where installations have it, and beside.
            for place in libexec sbin bin; do
                mkdir -p "$T/lone/$place"; cp "${A}d" "$T/lone/$place"
                is "$place" 0 "$("$B" mount "$T/back" "$T/mnt" 2>&1; echo $?)"; is "$place serves" 1 "$(daemon "$T/mnt" "$T/lone/$place/aclfsd" | wc -l)"
                "$A" unmount "$T/mnt"
            done
            # The other way: only a profile needs it.
            rm "$B"; D=$T/lone/sbin/aclfsd
            is 'no profile' 0 "$("$D" mount "$T/back" "$T/mnt" 2>&1; echo $?)"; "$A" unmount "$T/mnt"
            said=$("$D" mount -o sandbox=any "$T/back" "$T/mnt" 2>&1); is 'a profile' 2 $?
            holds 'a profile' "$said" "the program aclfs is missing: it is not in $T/lone/sbin or $T/lone/bin"; is 'nothing is mounted' 0 "$(mounted "$T/mnt")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func differentVersionsRefuseEachOther() throws {
        let result = try MountNamespace().run(
            #"""
            said=$(ACLFS_STARTED_BY=0.0.9 "${A}d" mount "$T/back" "$T/mnt" 2>&1); is 'an older aclfs' 2 $?
            holds 'an older aclfs' "$said" 'aclfs is version 0.0.9, but the aclfsd that it found is version '; is 'not mounted' 0 "$(mounted "$T/mnt")"
            # The variable does not last: what the daemon starts would get it.
            "$A" mount "$T/back" "$T/mnt"; p=$(daemon "$T/mnt"); is 'of one version' 1 "$(mounted "$T/mnt")"; "$A" unmount "$T/mnt"
            # Whatever answers in the place of aclfs, nothing is mounted without what the profile says.
            cp "${A}d" "$T/bin"; echo x >"$T/p.entitlements"
            answers() { printf '#!/bin/sh\ncat >/dev/null\n%s\n' "$1" >"$T/bin/aclfs"; chmod 755 "$T/bin/aclfs"; }
            refused() {
                answers "$2"; said=$("$T/bin/aclfsd" mount -o "sandbox=$T/p.entitlements" "$T/back" "$T/mnt" 2>&1); is "$1" 32 $?
                holds "$1" "$said" "$3"; is "$1: not mounted" 0 "$(mounted "$T/mnt")"
            }
            list='"entitlements":{"com.apple.security.app-sandbox":true}'
            refused 'another version' "echo '{\"version\":\"9.9\",$list}'" 'read by aclfs, which is version 9.9, while aclfsd is'
            version=$("${A}d" --version | cut -d' ' -f2)
            refused 'nothing' : 'a wrong answer'
            refused 'a status' "echo '{\"version\":\"$version\",$list}'; exit 3" 'has ended without an answer'
            refused 'a signal' 'kill -SEGV $$' 'has ended without an answer'
            refused 'no profile' "echo '{\"version\":\"$version\",\"entitlements\":{}}'" 'com.apple.security.app-sandbox: must be true'
            refused 'no list' "echo '{\"version\":\"$version\",\"entitlements\":[]}'" 'must be a dictionary'
            refused 'without end' "yes | head -c 3000000" 'are longer than 40 KiB'
            answers "echo '{\"version\":\"$version\",$list}'"
            is 'a right one' 0 "$("$T/bin/aclfsd" mount -o "sandbox=$T/p.entitlements" "$T/back" "$T/mnt" 2>&1; echo $?)"; umount "$T/mnt"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// The file is read with the caller's rights, where the mount is made; what reads the list gets its bytes and no rights.
    @Test func whoReadsAProfile() throws {
        let result = try MountNamespace().run(
            #"""
            list='<plist><dict><key>com.apple.security.app-sandbox</key><true/></dict></plist>'
            cp "$A" "$T/bin/aclfs.real"; cp "${A}d" "$T/bin"
            printf '#!/bin/sh\nenv >"%s/env"; readlink /proc/$$/fd/0 >"%s/fd"; exec "%s" "$@"\n' "$T" "$T" "$T/bin/aclfs.real" >"$T/bin/aclfs"; chmod 755 "$T/bin/aclfs"
            mkdir -m 700 "$T/secret"; echo "$list" >"$T/secret/p.entitlements"; chmod 600 "$T/secret/p.entitlements"
            said=$(SECRET=1 "$T/bin/aclfsd" mount -o "sandbox=$T/secret/p.entitlements" "$T/back" "$T/mnt" 2>&1); is 'root reads it' 0 $?
            is 'nothing of the environment' '' "$(grep -E 'SECRET|ACLFS' "$T/env")"; holds 'bytes, no file' "$(cat "$T/fd")" socket
            umount "$T/mnt"
            # In a namespace where the file is, and the programs need not be.
            mkfifo "$T/go"
            unshare -m --propagation private sh -c "mount -t tmpfs tmpfs '$T/secret'; echo '$list' >'$T/secret/inside.entitlements'; mount -t tmpfs tmpfs '$T/bin'; echo >$T/go; exec sleep 100" & there=$!
            read -r _ <"$T/go"
            said=$("$T/bin/aclfsd" mount -o "sandbox=$T/secret/inside.entitlements" "$T/back" "$T/mnt" 2>&1); is 'not here' 32 $?
            ln -s aclfsd "$T/bin/mount.aclfs"
            is 'mount -N' 0 "$("$T/bin/mount.aclfs" "$T/back" "$T/mnt" -N /proc/$there/ns/mnt -o "sandbox=$T/secret/inside.entitlements" 2>&1; echo $?)"
            is 'not here' 0 "$(mounted "$T/mnt")"; is 'there' 1 "$(grep -c " $T/mnt fuse.aclfs " /proc/$there/mounts)"
            nsenter -t $there -m umount "$T/mnt"; kill $there
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
