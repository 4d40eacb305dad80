import Foundation
import TestSupport
import Testing

/// `sandbox=`, `bundle=`, `home=` and `layout=`: what is taken, what is refused with which words, and that the daemon
/// that serves knows what the command has read.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxProfileTests {
    /// A profile's file: `profile NAME KEYS…`, each key with the value that follows it.
    static let prelude = #"""
        profile() {
            file=$T/$1.entitlements; shift
            { echo '<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>'
              echo '<key>com.apple.security.app-sandbox</key><true/>'
              while [ $# -gt 0 ]; do echo "<key>com.apple.security.$1</key>$2"; shift 2; done
              echo '</dict></plist>'
            } >"$file"
        }
        profile good files.downloads.read-only '<true/>'

        """#

    @Test func whatIsTaken() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                sandbox() { "$A" status "$1" | sed -n 's/^  sandbox: //p'; }
                "$A" mount "$T/back" "$T/mnt"; is 'none' none "$(sandbox "$T/mnt")"
                mkdir -p "$T/view" "$T/other" "$T/back/Users/ann" "$T/back/home"
                # Handed over to the daemon that serves already; a relative path is the command's own.
                cd "$T"; "$A" mount -o sandbox=./good.entitlements,bundle=org.example.App,home=/Users/ann back view
                is 'handed over' "$T/good.entitlements, bundle org.example.App, home /Users/ann, layout macos" "$(sandbox "$T/view")"
                holds 'among the options' "$("$A" status "$T/view" | grep options:)" \
                    ',sandbox=./good.entitlements,bundle=org.example.App,home=/Users/ann'
                holds 'for programs' "$("$A" status --json "$T/view")" \
                    '"sandbox":{"profile":"./good.entitlements","file":"'"$T"'/good.entitlements","bundle":"org.example.App"'
                umount "$T/mnt"; is 'it stays' 1 "$(mounted "$T/view")"
                umount "$T/view"
                # The first mount of a directory, from fstab; what the profile's file becomes later changes nothing.
                echo "$T/back $T/view aclfs sandbox=$T/good.entitlements,bundle=a.b,layout=ios,home=$T/view/home 0 0" >"$T/fstab"
                is 'fstab' 0 "$(mount "$T/view" 2>&1; echo $?)"
                is 'home through the mount point' "$T/good.entitlements, bundle a.b, home /home, layout ios" "$(sandbox "$T/view")"
                rm "$T/good.entitlements"
                is 'remount' 0 "$(mount -o remount,ro "$T/view" 2>&1; echo $?)"
                is 'still' "$T/good.entitlements, bundle a.b, home /home, layout ios" "$(sandbox "$T/view")"
                for o in sandbox=strict bundle=c.d home=/ layout=macos; do
                    said=$(mount -o "remount,$o" "$T/view" 2>&1); is "$o" 32 $?
                    holds "$o" "$said" "'$o' cannot change while mounted; unmount and mount again"
                done
                umount "$T/view"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func whatIsRefused() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                P=$T/good.entitlements
                refused() { # STATUS OPTIONS PART
                    said=$("$A" mount -o "$2" "$T/back" "$T/mnt" 2>&1); is "$2" "$1" $?; holds "$2" "$said" "$3"
                }
                refused 1 bundle=a.b "option 'bundle=a.b' has no effect without a profile: add sandbox=PROFILE"
                refused 1 home=/x "option 'home=/x' has no effect without a profile"
                refused 1 layout=ios "option 'layout=ios' has no effect without a profile"
                refused 1 "sandbox=$P,layout=ios" "add bundle=ID"
                refused 1 "sandbox=$P,bundle=a/b" "expected a bundle identifier"
                refused 1 "sandbox=$P,bundle=.." "expected a bundle identifier"
                refused 1 "sandbox=$P,bundle=*" "expected a bundle identifier"
                refused 1 "sandbox=$P,sandbox=other" "options 'sandbox=$P' and 'sandbox=other' contradict each other"
                refused 1 "sandbox=$P,bundle=a.b,bundle=c.d" "options 'bundle=a.b' and 'bundle=c.d' contradict each other"
                refused 1 "sandbox=$P,home=/a/../b" "without . and .."
                # One that is not there would be an empty container.
                mkdir -p "$T/back/Users/ann"; echo text >"$T/back/Users/file"; ln -s ann "$T/back/Users/link"
                refused 32 "sandbox=$P,home=/Users/bob" "home=/Users/bob: there is no such directory on this mount"
                refused 32 "sandbox=$P,home=/Users/file" "home=/Users/file: not a directory"
                refused 32 "sandbox=$P,home=/Users/file/x" "not a directory"
                refused 32 "sandbox=$P,home=/Users/link" "leads over a symbolic link"
                refused 32 "sandbox=$P,home=/Users/link/x" "leads over a symbolic link"
                mkdir "$T/else"; "$A" mount "$T/back" "$T/else" 2>/dev/null
                refused 32 "sandbox=$P,home=$T/else/Users/ann" "($T/else is another mount; is /Users/ann meant?)"
                said=$("$A" sandbox run "$P" --home /Users/bob --mount "$T/else" -- true 2>&1); is 'run' 2 $?
                holds 'run' "$said" "--home /Users/bob: there is no such directory on this mount"
                umount "$T/else"; is 'nothing is mounted' 0 "$(mounted "$T/mnt")"
                refused 1 "sandbox=$P,bundle=a.b,layout=ipados" "expected macos, ios"
                refused 1 sandbox= "an installed profile's name"
                refused 1 sandbox=no-such "no profile 'no-such' in /etc/aclfs/sandbox or "
                refused 32 "sandbox=$T/none" "profile $T/none: No such file or directory (ENOENT)"
                refused 32 "sandbox=$T/" "profile $T/: not a regular file"
                mkfifo "$T/pipe"; refused 32 "sandbox=$T/pipe" 'not a regular file'
                head -c 300000 /dev/zero >"$T/long"; refused 32 "sandbox=$T/long" 'longer than 256 KiB'
                echo text >"$T/text"; refused 32 "sandbox=$T/text" "profile $T/text: not a property list: neither XML"
                profile child inherit '<true/>'
                refused 32 "sandbox=$T/child.entitlements" 'key com.apple.security.inherit: a program with this key runs in the'
                profile wrong files.downloads.read-write '<string>true</string>'
                refused 32 "sandbox=$T/wrong.entitlements" 'key com.apple.security.files.downloads.read-write: must be true or false'
                profile wide temporary-exception.files.absolute-path.read-only '<array><string>/a/../b/</string></array>'
                refused 32 "sandbox=$T/wide.entitlements" "'/a/../b/' must not hold '.' or '..'"
                is 'nothing is mounted' 0 "$(mounted "$T/mnt")"
                profile odd files.all '<true/>'
                said=$("$A" mount -o "sandbox=$T/odd.entitlements" "$T/back" "$T/mnt" 2>&1); is 'unknown keys' 0 $?
                is 'a warning that names them' \
                    "aclfs: warning: profile $T/odd.entitlements: com.apple.security.files.all: unknown key; it allows nothing here" "$said"
                umount "$T/mnt"
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func checkAndList() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                ends() { # STATUS PART WORD…
                    expected=$1 part=$2; shift 2
                    said=$("$A" sandbox "$@" 2>&1); is "$*" $expected $?; holds "$*" "$said" "$part"
                }
                P=$T/good.entitlements
                ends 0 "profile $P is valid" check "$P"
                ends 0 '/home/ann/Downloads/  read and execute' check --home /home/ann "$P"
                ends 0 '/Containers/Data/a.b ' check --bundle a.b --layout ios "$P"
                holds 'no new names' "$said" 'list, no new names'; holds 'the bundle' "$said" '/Containers/Bundle/a.b/'
                ends 0 '"good":true,"warnings":[],"not_about_files":[],"grants":null' check --json "$P"
                ends 0 '"path":"/x","passes":"nothing","rights":[],"key":null' check --json "$P" /x
                profile odd files.all '<true/>' files.user-selected.read-only '<true/>'
                ends 0 'warning: com.apple.security.files.all: unknown key' check "$T/odd.entitlements"
                holds 'grants' "$said" "granted with 'aclfs sandbox grant add': read and execute at most"
                profile apples network.client '<true/>' files.bookmarks.app-scope '<true/>'; Q=$T/apples.entitlements
                is 'keys of other subjects' '' "$("$A" sandbox check "$Q" 2>&1 | grep -E 'network|bookmarks|warning')"
                is 'with -v' 2 "$("$A" sandbox check -v "$Q" | grep -cx 'com.apple.security.*: not about files, not enforced')"
                is 'a mount' '' "$(mkdir "$T/quiet"; "$A" mount -o "sandbox=$Q" "$T/back" "$T/quiet" 2>&1; "$A" unmount "$T/quiet")"
                profile wrong files.downloads.read-only '<integer>1</integer>'
                ends 1 'must be true or false' check "$T/wrong.entitlements"
                ends 1 '"good":false,"error":"' check --json "$T/wrong.entitlements"
                iconv -f UTF-8 -t UTF-16 "$P" >"$T/wide.entitlements"; ends 1 'an XML property list in UTF-16' check "$T/wide.entitlements"
                ends 2 'No such file' check "$T/none"
                ends 2 "no profile 'none'" check none
                ends 2 'add bundle=ID' check --layout ios "$P"
                ends 2 'expected macos, ios' check --bundle a.b --layout tvos "$P"
                ends 2 'may not contain . or ..' check "$P" /a/../b
                ends 2 'usage: aclfs sandbox check' check
                ends 2 "did you mean 'check'?" chek
                ends 2 "did you mean 'remove'?" grant remov
                ends 2 'usage: aclfs sandbox' grant
                mount -t tmpfs tmpfs /usr/share; mkdir -p /usr/share/aclfs/sandbox
                cp "$P" "$T/odd.entitlements" /usr/share/aclfs/sandbox
                ends 0 'odd  /usr/share/aclfs/sandbox/odd.entitlements  (1 warning)' list
                cp "$T/wrong.entitlements" /usr/share/aclfs/sandbox
                ends 1 'wrong  /usr/share/aclfs/sandbox/wrong.entitlements  (not valid)' list
                mkdir "$T/back/h"; "$A" mount -o "sandbox=$P,home=/h" "$T/back" "$T/mnt"
                ends 1 "$T/mnt: $P, home /h" list
                ends 1 "\"mountpoint\":\"$T/mnt\",\"profile\":\"$P\"" list --json
                # As it was typed it would mean nothing elsewhere.
                umount "$T/mnt"; cd "$T"
                "$A" mount -o "sandbox=./good.entitlements,home=/h" back mnt; cd /
                ends 1 "$T/mnt: $P, home /h" list
                ends 1 "\"profile\":\"./good.entitlements\",\"file\":\"$P\"" list --json
                """#)
        #expect(result.output == "done", "\(result)")
    }

    @Test func installedNames() throws {
        let result = try MountNamespace().run(
            Self.prelude + #"""
                # An /etc and a /usr/share of the test alone.
                cp -a /etc "$T/etc"; mount --bind "$T/etc" /etc; mount -t tmpfs tmpfs /usr/share
                mkdir -p /etc/aclfs/sandbox /usr/share/aclfs/sandbox
                cp "$T/good.entitlements" /usr/share/aclfs/sandbox/viewer.entitlements
                is 'by its name' 0 "$("$A" mount -o sandbox=viewer "$T/back" "$T/mnt" 2>&1; echo $?)"; umount "$T/mnt"
                holds 'nearly' "$("$A" mount -o sandbox=viewr "$T/back" "$T/mnt" 2>&1)" "did you mean 'viewer'?"
                echo nonsense >/etc/aclfs/sandbox/viewer.entitlements
                holds "the administrator's first" "$("$A" mount -o sandbox=viewer "$T/back" "$T/mnt" 2>&1)" \
                    'profile /etc/aclfs/sandbox/viewer.entitlements: not a property list'
                """#)
        #expect(result.output == "done", "\(result)")
    }
}

/// The look at it of docs/guide/sandbox.md, one command after the other, with the output that stands there.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxDocumentTests {
    private func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: #"'\''"#) + "'" }

    @Test func theLookAtItIsTrue() throws {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("docs/guide/sandbox.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## A look at it\n").last?.components(separatedBy: "\n## ").first)
        var examples: [(command: String, output: [String])] = []
        for line in section.split(separator: "\n") where line.hasPrefix("    ") {
            let line = String(line.dropFirst(4))
            if line.hasPrefix("$ ") {
                examples.append((String(line.dropFirst(2)), []))
            } else {
                examples[examples.count - 1].output.append(line)
            }
        }
        #expect(examples.count >= 14)
        var script = #"""
            mount -t tmpfs tmpfs /var/lib; mount -t tmpfs -o mode=755 tmpfs /srv; mount -t tmpfs tmpfs /usr/share
            mkdir -p /usr/share/aclfs/sandbox /srv/bin
            ln -s "$A" /srv/bin/aclfs; PATH=/srv/bin:$PATH
            trap 'aclfs unmount /srv/view; aclfs unmount /srv/share; leave' EXIT

            """#
        script += "cp \(quoted(Repository.top.path))/mount-helpers/sandbox/* /usr/share/aclfs/sandbox\n"
        for example in examples {
            script += "is \(quoted(example.command)) \(quoted(example.output.joined(separator: "\n"))) "
            script += "\"$(\(example.command) 2>&1)\"\n"
        }
        let result = try MountNamespace().run(script)
        #expect(result.output == "done", "\(result)")
    }

    @Test func everyInstalledProfileIsGood() throws {
        let result = try MountNamespace().run(
            "P=\(quoted(Repository.top.path))/mount-helpers/sandbox\n"
                + #"""
                for profile in "$P"/*; do
                    said=$("$A" sandbox check --bundle org.example.App --layout ios "$profile" 2>&1); is "$profile" 0 $?
                    is "$profile" 0 "$(echo "$said" | grep -c warning)"
                done
                """#)
        #expect(result.output == "done", "\(result)")
    }
}
