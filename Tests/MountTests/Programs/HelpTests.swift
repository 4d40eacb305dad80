import Foundation
import TestSupport
import Testing

/// What `--help` prints: no wider than the terminal, and every example works.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct HelpTests {
    private static let commands = [
        "", "mount", "unmount", "status", "doctor", "fstab-line", "conformance", "chmod", "ls", "chflags", "backup", "backup list",
        "sandbox",
        "sandbox check", "sandbox list",
        "sandbox run", "sandbox grant", "sandbox grant add", "sandbox grant list", "sandbox grant remove", "acl", "acl import",
        "acl export", "acl diff", "acl copy", "acl remap", "restore", "report",
        "explain", "effective", "propagate", "inherit", "explicit", "strip", "copy-mode", "volume", "preset", "preset apply",
        "preset show", "preset undo", "purge",
        "doctor", "fstab-line",
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

    @Test(.enabled(if: isInstalled("python3"), "no python3 (apt install python3)"))
    func onANarrowTerminalNoLineIsWider() throws {
        let script = #"""
            import fcntl, os, pty, struct, sys, termios
            for command in sys.argv[2:]:
                child, terminal = pty.fork()
                if child == 0:
                    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 50, 0, 0))
                    os.execv(sys.argv[1], ['aclfs'] + command.split() + ['--help'])
                text = b''
                while True:
                    try:
                        more = os.read(terminal, 65536)
                    except OSError:
                        break
                    if not more:
                        break
                    text += more
                os.waitpid(child, 0)
                os.close(terminal)
                print(text.decode().replace('\r', ''), end='\0')
            """#
        let narrow = try Spawn.run(["python3", "-c", script, MountTesting.program("aclfs")] + Self.commands, isTrimmed: false)
        let texts = narrow.output.split(separator: "\0", omittingEmptySubsequences: false)
        #expect(texts.count == Self.commands.count + 1, "\(narrow)")
        func words(_ text: String) -> [Substring] { text.split { $0 == " " || $0 == "\n" } }
        for (command, text) in zip(Self.commands, texts) {
            #expect(words(String(text)) == words(try help(command).output), "\(command)")
            for line in text.split(separator: "\n") {
                #expect(line.count <= 50 || !line.drop { $0 == " " }.contains(" "), "\(line)")
            }
        }
    }

    /// The usage of a help has each of its options, and no option is said twice to have a default.
    @Test(arguments: commands)
    func theUsageHasEachOption(_ command: String) throws {
        let help = try help(command).output
        guard let start = help.range(of: "USAGE: "), let end = help.range(of: "\nOPTIONS:") else { return }
        let usage = help[start.upperBound..<end.lowerBound]
        for line in help[end.upperBound...].split(separator: "\n") where line.hasPrefix("  -") && !line.contains("--help") {
            let names = line.split(separator: " ").prefix { $0.hasPrefix("-") }.map { $0.hasSuffix(",") ? $0.dropLast() : $0 }
            #expect(names.contains { usage.contains($0) }, "\(command): \(line)")
        }
        #expect(!help.contains("(default:"), "\(help)")
    }

    /// The examples in a help: they stand at the end of their lines.
    private func examples(_ help: String) -> [String] {
        help.split(separator: "\n").compactMap { line in
            guard !line.contains("--help"), !line.contains("["), let start = line.range(of: "  aclfs ") ?? line.range(of: ": aclfs ") else {
                return nil
            }
            let example = line[line.index(start.lowerBound, offsetBy: 2)...]
            // These look at all mounts of the system, and those of other tests may be dead.
            if example.hasPrefix("aclfs doctor") || example.hasPrefix("aclfs sandbox list") { return nil }
            return example.contains("...") || example.contains("mount") || example.contains("SOURCE") || example.contains("/srv/back")
                ? nil : String(example)
        }
    }

    @Test(arguments: ["", "chmod", "chflags", "ls", "explain"])
    func theExamplesWork(_ command: String) throws {
        let accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502], groups: [20: .init(name: "staff", members: ["alice", "bob"])])
        // A mount over io_uring cannot be upgraded.
        let fixture = try MountFixture(options: "transport=dev", within: accounts.within)
        let examples = examples(try help(command).output).map { example in
            ["PATH", "THIS", "FILE"].reduce(example.replacingOccurrences(of: "/srv/share", with: fixture.mountpoint)) {
                $0.replacingOccurrences(of: $1, with: "plans")
            }
        }
        #expect(examples.count >= ["": 7, "chmod": 15, "chflags": 9, "ls": 6, "explain": 6][command] ?? 0, "\(examples)")
        // Each on files that are made anew; its output ends with its status.
        let script = #"""
            cd "$1"; A=$2; aclfs() { "$A" "$@"; }; shift 2
            touch x; aclfs chflags uchg x; rm -f x 2>/dev/null
            for example in "$@"; do
                aclfs chflags -R 0 .; rm -rf ./*
                mkdir folder build old; touch plans tool copy log notes folder/plans
                printf '%s\n' 'bob deny delete' 'bob allow write,execute' 'group:staff inherited allow read' | aclfs chmod -E plans
                eval "$example"; printf 'ends with %s\0' $?
            done
            """#
        let result = try Spawn.run(
            accounts.within + ["bash", "-uc", script, "bash", fixture.mountpoint, MountTesting.program("aclfs")] + examples)
        let outputs = result.output.split(separator: "\0", omittingEmptySubsequences: false)
        #expect(outputs.count == examples.count + 1, "\(result)")
        for (example, output) in zip(examples, outputs) {
            // Also 1 is an answer: not allowed; in canonical order.
            let isAnswer = output.hasSuffix("ends with 1") && (example.contains("explain") || example.contains("chmod -C"))
            #expect(output.hasSuffix("ends with 0") || isAnswer, "\(example): \(output)")
            #expect(!output.contains("aclfs: "), "\(example): \(output)")
        }
    }
}
