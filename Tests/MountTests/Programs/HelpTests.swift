import Foundation
import TestSupport
import Testing

/// What `--help` prints: no wider than the terminal, and every example works.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct HelpTests {
    private static let commands = [
        "", "mount", "unmount", "status", "chmod", "ls", "chflags", "backup", "backup list", "sandbox", "sandbox check", "sandbox list",
        "sandbox run", "sandbox grant", "sandbox grant add", "sandbox grant list", "sandbox grant remove", "explain", "effective",
    ]

    private func help(_ command: String) throws -> CommandResult {
        try Spawn.run([MountTesting.program("aclfs")] + command.split(separator: " ").map(String.init) + ["--help"], isTrimmed: false)
    }

    @Test(arguments: commands)
    func withoutATerminalNoLineIsWiderThanEighty(_ command: String) throws {
        let help = try help(command)
        #expect(help.status == 0 && help.output.contains("\n"), "\(help)")
        for line in help.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        // Wrong use prints the usage.
        let wrong = try Spawn.run([MountTesting.program("aclfs")] + command.split(separator: " ").map(String.init) + ["--nosuchoption"])
        #expect(wrong.status != 0)
        for line in wrong.output.split(separator: "\n").dropFirst() { #expect(line.count <= 80, "\(line)") }
    }

    @Test(.enabled(if: isInstalled("python3"), "no python3 (apt install python3)"), arguments: commands)
    func onANarrowTerminalNoLineIsWider(_ command: String) throws {
        let script = #"""
            import fcntl, os, pty, struct, sys, termios
            child, terminal = pty.fork()
            if child == 0:
                fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 50, 0, 0))
                os.execv(sys.argv[1], ['aclfs'] + sys.argv[2].split() + ['--help'])
            text = b''
            while True:
                try:
                    more = os.read(terminal, 65536)
                except OSError:
                    break
                if not more:
                    break
                text += more
            print(text.decode().replace('\r', ''), end='')
            """#
        let narrow = try Spawn.run(["python3", "-c", script, MountTesting.program("aclfs"), command], isTrimmed: false)
        func words(_ text: String) -> [Substring] { text.split { $0 == " " || $0 == "\n" } }
        #expect(words(narrow.output) == words(try help(command).output))
        for line in narrow.output.split(separator: "\n") {
            #expect(line.count <= 50 || !line.drop { $0 == " " }.contains(" "), "\(line)")
        }
    }

    /// The examples in a help: they stand at the end of their lines.
    private func examples(_ help: String) -> [String] {
        help.split(separator: "\n").compactMap { line in
            guard !line.contains("--help"), !line.contains("["), let start = line.range(of: "  aclfs ") ?? line.range(of: ": aclfs ") else {
                return nil
            }
            let example = line[line.index(start.lowerBound, offsetBy: 2)...]
            return example.contains("...") || example.contains("mount") || example.contains("SOURCE") ? nil : String(example)
        }
    }

    @Test(arguments: ["", "chmod", "chflags", "ls", "explain"])
    func theExamplesWork(_ command: String) throws {
        let accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502], groups: [20: .init(name: "staff", members: ["alice", "bob"])])
        let fixture = try MountFixture(within: accounts.within)
        let prepare = #"""
            cd "$1"; A=$2; aclfs() { "$A" "$@"; }
            aclfs chflags -R 0 .; rm -rf ./*
            mkdir folder build old; touch plans tool copy log notes folder/plans
            touch old/x; aclfs chflags uchg old/x; rm -f old/x 2>/dev/null; aclfs chflags 0 old/x
            printf '%s\n' 'bob deny delete' 'bob allow write,execute' 'group:staff inherited allow read' | aclfs chmod -E plans

            """#
        let examples = examples(try help(command).output)
        #expect(examples.count >= ["": 8, "chmod": 15, "chflags": 9, "ls": 6, "explain": 6][command] ?? 0, "\(examples)")
        for example in examples {
            var example = example.replacingOccurrences(of: "/srv/share", with: fixture.mountpoint)
            for word in ["PATH", "THIS", "FILE"] { example = example.replacingOccurrences(of: word, with: "plans") }
            let result = try Spawn.run(
                accounts.within + ["bash", "-uc", prepare + example, "bash", fixture.mountpoint, MountTesting.program("aclfs")])
            // Also 1 is an answer: not allowed; in canonical order.
            let isAnswer = result.status == 1 && (example.contains("explain") || example.contains("chmod -C"))
            #expect(result.status == 0 || isAnswer, "\(example): \(result)")
            #expect(!result.output.contains("aclfs: "), "\(example): \(result)")
        }
    }
}
