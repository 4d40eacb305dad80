import ACLFormats
import Foundation
import Glibc
import TestSupport
import Testing

/// docs/completions: what each shell offers, asked of the shell itself, that the files are made from the help, and that no command, option
/// or word is left out.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct CompletionTests {
    private static let directory = Repository.top.appendingPathComponent("docs/completions").path
    private static let files = ["aclfs.bash", "_aclfs", "aclfs.fish"]
    private static let programs = (MountTesting.program("aclfs") as NSString).deletingLastPathComponent

    /// A line before the cursor, and words of which each shell offers the first ones and not the others.
    private static let cases: [(line: String, offered: [String], missing: [String])] = [
        ("aclfs ", ["mount", "chmod", "acl", "restore", "sandbox", "help"], []),
        ("aclfs chmod ", ["+a", "-a#", "=a#", "-E"], ["uchg"]),
        ("aclfs chmod +a ", ["user:", "group:", "everyone", "owner@"], ["allow"]),
        ("aclfs chmod +a \"", ["user:", "group:", "everyone@"], ["allow"]),
        ("aclfs chmod +a al", ["alice"], ["allow"]),
        ("aclfs chmod +a \"user:al", ["alice"], ["staff"]),
        ("aclfs chmod -R +a \"group:", ["staff"], ["alice"]),
        ("aclfs chmod +a \"group:staff ", ["allow", "deny", "inherited"], ["read", "alice"]),
        ("aclfs chmod +a \"alice allow re", ["read", "readattr", "read_set"], ["write", "allow deny"]),
        ("aclfs chmod +a# 2 \"alice inherited deny read,wr", ["write", "writeattr", "write_set"], ["chown"]),
        ("aclfs chmod +a user:alice:allow:del", ["delete", "delete_child"], ["read"]),
        ("aclfs chmod +a \"group:staff allow list,file", ["file_inherit"], ["directory_inherit"]),
        ("aclfs chmod +a \"alice allow read\" ", ["plans"], ["allow", "user:"]),
        ("aclfs chmod --", ["--offline", "--quiet"], ["--workers"]),
        ("aclfs chflags ", ["uchg", "nouchg", "schg"], ["allow"]), ("aclfs chflags uchg,no", ["nodump"], ["hidden"]),
        ("aclfs chflags uchg ", ["plans"], ["nodump"]),
        ("aclfs mount -o ", ["ro", "cache=strict", "zerofill=write"], ["plans"]),
        ("aclfs mount -o cache=s", ["strict"], ["auto", "trusted"]),
        ("aclfs mount -o ro,metadata=", ["trusted", "user"], ["strict"]), ("aclfs fstab-line -o nosu", ["nosuid", "nosuiddir"], ["ro"]),
        ("aclfs fstab-line -o nofa", ["nofail"], ["ro"]),
        ("aclfs explain --as ", ["alice"], []), ("aclfs explain --as alice:st", ["staff"], ["alice:alice"]),
        ("aclfs explain open-", ["open-read", "open-append"], ["unlink"]), ("aclfs effective --as al", ["alice"], ["bob"]),
        ("aclfs sandbox ", ["check", "grant", "run"], []), ("aclfs sandbox grant ", ["add", "remove"], ["check"]),
        ("aclfs sandbox check --layout ", ["ios", "macos"], ["plans"]), ("aclfs sandbox run ", ["plain-profile"], []),
        ("aclfs backup ", ["exclude", "list"], []), ("aclfs backup list --format=r", ["rsync", "restic"], ["borg"]),
        ("aclfs backup layout ", ["ios", "container", "none"], ["plans"]), ("aclfs purge --older-than ", ["3d"], ["plans"]),
        ("aclfs acl ", ["import", "export", "diff"], []), ("aclfs acl export --metadata ", ["trusted", "user"], ["ro"]),
        ("aclfs acl import --metadata ", ["trusted", "user"], ["ro"]), ("aclfs restore pl", ["plans"], []),
        ("aclfs propagate --metadata ", ["trusted", "user"], ["ro"]), ("aclfs strip pl", ["plans"], []),
        ("aclfs preset ", ["apply", "show", "undo"], []), ("aclfs preset apply t", ["team-share"], ["public"]),
        ("aclfs preset apply --", ["--undo-file", "--resume", "--workers"], ["--force"]),
        ("aclfs preset undo --", ["--force", "--offline"], ["--undo-file", "--resume", "--workers"]),
        ("aclfs preset show --", ["--group", "--json"], ["--dry-run", "--hard-links", "--workers"]),
        ("aclfs volume . no", ["noacl", "noowners"], ["acl"]),
        ("aclfs backup list --", ["--null", "--format", "--offline"], ["--json"]), ("aclfs report -o pl", ["plans"], []),
        ("aclfs acl import --ignore owner,gr", ["group"], ["owner"]), ("aclfs acl diff --unknown ", [], ["keep"]),
        ("aclfs explain open-read pl", ["plans"], []), ("aclfs explain --last ", ["MOUNTPOINT"], ["open-read"]),
        ("aclfs chmod -R +a# ", ["3"], ["plans"]), ("aclfs chmod -a# 2 pl", ["plans"], []), ("aclfs chmod 600 pl", ["plans"], []),
        ("aclfs sandbox grant list ", ["MOUNTPOINT"], []), ("aclfs sandbox run --mount ", ["MOUNTPOINT"], []),
        ("aclfs owner --user al", ["alice"], ["staff"]), ("aclfs preset apply --group st", ["staff"], ["alice"]),
        ("aclfs mount -o sandbox=", ["plain-profile"], ["ro"]),
        ("aclfs restore --json pl", ["plans"], []),
        ("aclfs help ", ["chmod", "doctor"], ["plans"]), ("aclfs status ", ["MOUNTPOINT"], []), ("aclfs unmount ", ["MOUNTPOINT"], []),
    ]

    /// Runs a program in a directory with a file `plans`, an installed profile and a mount.
    /// - Parameter script: gets the lines as arguments, and prints for each what is offered, between NULs.
    private func offers(_ shell: [String], _ script: String, _ lines: [String]) throws -> (answers: [String], mountpoint: String) {
        let accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502, "alan": 503],
            groups: [20: .init(name: "staff", members: ["alice"]), 30: .init(name: "stage", members: [])])
        let fixture = try MountFixture(options: nil, within: accounts.within)
        try fixture.mount()
        let place = fixture.top + "/place"
        mkdir(place, 0o755)
        close(open(place + "/plans", O_CREAT | O_WRONLY, 0o644))
        // In place of the program: installed profiles are the system's.
        let programs = fixture.top + "/bin"
        mkdir(programs, 0o755)
        let fake =
            "#!/bin/sh\ncase \"$*\" in 'sandbox list') echo 'plain-profile  /usr/share/aclfs/sandbox/plain-profile.entitlements' ;; esac\n"
        // By another process: a child of another test could have it open for writing, and then it cannot be executed.
        let made = try Spawn.run(["sh", "-c", "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"", "sh", fake, programs + "/aclfs"])
        #expect(made.status == 0, "\(made)")
        let whole =
            "cd '\(place)'; export PATH='\(programs)':$PATH HOME='\(fixture.top)' COMPLETIONS='\(Self.directory)' LC_ALL=C.UTF-8\n\(script)"
        let result = try Spawn.run(accounts.within + shell + [whole, "shell"] + lines, isTrimmed: false)
        return (result.output.components(separatedBy: "\0"), fixture.mountpoint)
    }

    private func expectOffers(_ shell: [String], _ script: String) throws {
        let (answers, mountpoint) = try offers(shell, script, Self.cases.map(\.line))
        guard answers.count == Self.cases.count + 1 else {
            Issue.record("\(answers.count) answers: \(answers)")
            return
        }
        for (example, answer) in zip(Self.cases, answers) {
            // Shells show the whole word or its end; either ends a line or stands before a description.
            let lines = answer.split(separator: "\n").map { $0.split(separator: "\t")[0].trimmingCharacters(in: .whitespaces) }
            func has(_ word: String) -> Bool {
                lines.contains { line in
                    line == word || ["=", ":", ",", " ", "\\ "].contains { line.hasSuffix($0 + word) } || line == word + "/"
                }
            }
            for word in example.offered where word != "MOUNTPOINT" {
                #expect(has(word), "\(example.line)<TAB> does not offer \(word): \(lines)")
            }
            if example.offered == ["MOUNTPOINT"] { #expect(has(mountpoint), "\(example.line)<TAB>: \(lines)") }
            for word in example.missing { #expect(!has(word), "\(example.line)<TAB> offers \(word): \(lines)") }
        }
    }

    @Test func bashOffers() throws {
        try expectOffers(
            ["bash", "--norc", "-c"],
            #"""
            source "$COMPLETIONS/aclfs.bash"
            for line; do
                COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
                _aclfs; [ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
                printf '\0'
            done
            """#)
    }

    /// The whole line that readline makes of a tab, in a terminal: quotes, colons, equals signs and blanks stay right.
    @Test(.enabled(if: isInstalled("python3"), "no python3 (apt install python3)"))
    func bashCompletesTheLine() throws {
        let cases = [
            ("aclfs chmo", "aclfs chmod "), ("aclfs chmod +a \"user:alic", "aclfs chmod +a \"user:alice "),
            ("aclfs chmod +a \"user:alice all", "aclfs chmod +a \"user:alice allow "),
            ("aclfs chmod +a user:alice:allow:reada", "aclfs chmod +a user:alice:allow:readattr"),
            ("aclfs chmod +a \"alice allow read,writea", "aclfs chmod +a \"alice allow read,writeattr\""),
            ("aclfs mount -o ro,cache=st", "aclfs mount -o ro,cache=strict"),
            ("aclfs chmod +a alice\\ allow\\ exe", "aclfs chmod +a alice\\ allow\\ execute"),
            ("aclfs backup list --format=bo", "aclfs backup list --format=borg "),
            ("aclfs chflags uchg pla", "aclfs chflags uchg plans "),
        ]
        let program = #"""
            import os, pty, select, sys, time
            child, terminal = pty.fork()
            if child == 0:
                os.environ.update(PS1='> ', TERM='dumb', INPUTRC='/dev/null')
                os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])
            def read(seconds):
                text, end = b'', time.time() + seconds
                while time.time() < end and select.select([terminal], [], [], 0.2)[0]:
                    text += os.read(terminal, 65536)
                return text
            os.write(terminal, b"source $COMPLETIONS/aclfs.bash; bind 'set enable-bracketed-paste off'; show() { printf '<%s>' \"$READLINE_LINE\"; }; bind -x '\"\\C-g\": show'\n")
            read(3)
            for line in sys.argv[1:]:
                os.write(terminal, line.encode() + b'\t')
                read(3)
                os.write(terminal, b'\x07')
                shown = read(3).decode()
                sys.stdout.write(shown.rpartition('<')[2].partition('>')[0] + '\0')
                os.write(terminal, b'\x05\x15')
                read(1)
            os.write(terminal, b'exit\n')
            """#
        let (answers, _) = try offers(
            ["bash", "-c"], "exec python3 -c \"$PROGRAM\" \"$@\"".replacingOccurrences(of: "\"$PROGRAM\"", with: Self.quoted(program)),
            cases.map(\.0))
        for (example, answer) in zip(cases, answers) { #expect(answer == example.1, "\(example.0)<TAB>") }
        #expect(answers.count == cases.count + 1)
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'" }

    @Test(
        .enabled(if: isInstalled("zsh"), "no zsh (apt install zsh)"),
        .enabled(if: isInstalled("python3"), "no python3 (apt install python3)"))
    func zshOffers() throws {
        // zsh completes in its line editor alone: a terminal, on which each match is printed by a wrapper of compadd.
        let program = #"""
            import os, pty, select, sys, time
            child, terminal = pty.fork()
            if child == 0:
                os.environ.update(TERM='dumb', PS1='> ')
                os.execvp('zsh', ['zsh', '-f', '-i'])
            def read(until, seconds=10):
                text, end = b'', time.time() + seconds
                while time.time() < end and until not in text:
                    if select.select([terminal], [], [], 0.2)[0]:
                        text += os.read(terminal, 65536)
                return text
            setup = r'''
            fpath=($COMPLETIONS $fpath); autoload -Uz compinit; compinit -D -u
            LISTMAX=10000; setopt no_always_last_prompt; zstyle ':completion:*' list-colors ''
            compadd() {
                local -a found
                if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
                builtin compadd -O found "$@"
                print -rl -- $found >>$OUT
                builtin compadd "$@"
            }
            show() { : >$OUT; zle list-choices; print -n 'listed' >>$OUT.done }
            zle -N show; bindkey '^G' show; bindkey '^U' kill-buffer
            '''
            out = os.environ['HOME'] + '/matches'
            os.environ['OUT'] = out
            with open(out + '.rc', 'w') as file:
                file.write(setup.replace('$OUT', out))
            os.write(terminal, b'source ' + out.encode() + b'.rc; echo rea""dy\n')
            read(b'ready')
            for line in sys.argv[1:]:
                for name in (out, out + '.done'):
                    open(name, 'w').close()
                os.write(terminal, line.encode() + b'\x07')
                end = time.time() + 10
                while time.time() < end and not os.path.getsize(out + '.done'):
                    read(b'\0never', 0.1)
                with open(out) as file:
                    sys.stdout.write(file.read() + '\0')
                os.write(terminal, b'\x15')
                read(b'\0never', 0.1)
            os.write(terminal, b'exit\n')
            """#
        try expectOffers(["bash", "-c"], "exec python3 -c \(Self.quoted(program)) \"$@\"")
    }

    @Test(.enabled(if: isInstalled("fish"), "no fish (apt install fish)"))
    func fishOffers() throws {
        try expectOffers(
            ["bash", "-c"],
            #"""
            exec fish --no-config -c 'source $COMPLETIONS/aclfs.fish; for line in $argv; complete -C $line; printf "\0"; end' "$@"
            """#)
    }

    // MARK: Nothing is left out

    @Test(.enabled(if: isInstalled("python3"), "no python3 (apt install python3)"))
    func theFilesAreMadeFromTheHelp() throws {
        let maker = Repository.top.appendingPathComponent("Scripts/make-completions").path
        let result = try Spawn.run([maker, MountTesting.program("aclfs"), "--check"])
        #expect(result.status == 0 && result.output.isEmpty, "\(result)")
    }

    private func help(_ words: String...) throws -> String { try Spawn.run([MountTesting.program("aclfs")] + words + ["--help"]).output }

    /// Each command of `aclfs --help`, and each long option of its help, is in the three files.
    @Test func noCommandAndNoOptionIsLeftOut() throws {
        let all = try help().matches(of: /\n  ([a-z-]+)  ? *\S/).map { String($0.1) }
        #expect(all.count > 12, "\(all)")
        for file in Self.files {
            let text = try String(contentsOfFile: "\(Self.directory)/\(file)", encoding: .utf8)
            let words = Set(text.split { !($0.isLetter || $0.isNumber || "_-".contains($0)) }.map(String.init))
            func contains(_ word: String) -> Bool { words.contains(word) }
            for command in all { #expect(contains(command), "\(file) lacks the command \(command)") }
            for command in all where command != "help" && command != "version" {
                for form in try forms(of: command) {
                    for option in try Set(help(form).matches(of: /--[a-z][a-z-]+/).map { String($0.0) }).sorted() where option != "--help" {
                        #expect(contains(option), "\(file) lacks \(option) of aclfs \(form.joined(separator: " "))")
                    }
                }
            }
        }
    }

    private func help(_ words: [String]) throws -> String { try Spawn.run([MountTesting.program("aclfs")] + words + ["--help"]).output }

    /// A command and its further words.
    private func forms(of command: String) throws -> [[String]] {
        switch command {
        case "sandbox": [["check"], ["list"], ["run"], ["grant", "add"], ["grant", "list"], ["grant", "remove"]].map { [command] + $0 }
        case "acl": ["export", "import", "diff", "copy", "remap"].map { [command, $0] }
        case "preset": [["apply"], ["show"], ["undo"]].map { [command] + $0 }
        default: [[command]]
        }
    }

    @Test func noRightAndNoOperationIsLeftOut() throws {
        let words = RightName.all.flatMap { [$0.fileWord, $0.directoryWord].compactMap { $0 } } + RightSet.all.map(\.word)
        let operations = OperationWord.allCases.map(\.rawValue)
        for file in Self.files {
            let text = try String(contentsOfFile: "\(Self.directory)/\(file)", encoding: .utf8)
            let there = Set(text.split { !($0.isLetter || $0.isNumber || "_-@".contains($0)) }.map(String.init))
            for word in words + operations + ["file_inherit", "directory_inherit", "limit_inherit", "only_inherit", "inherited"] {
                #expect(there.contains(word), "\(file) lacks \(word)")
            }
        }
    }
}
