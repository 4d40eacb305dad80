import Foundation
import TestSupport
import Testing

/// mount-helpers/aclfs@.service, its commands run as systemd would run them. No systemd is started.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct UnitTests {
    private static let unit = Repository.top.appendingPathComponent("mount-helpers/aclfs@.service").path

    /// `unit KEY PLACE` runs the command of a key for an instance: words in quotes, `$$`, `${NAME}`, `%f` (systemd.service(5)).
    private static let setup = #"""
        cat >"$T/run" <<'END'
        import os, re, shlex, sys
        text, key, place, program = sys.argv[1:]
        lines = [line.split("=", 1) for line in open(text) if "=" in line and line[0] not in "#;"]
        value = lambda name: [v.strip() for k, v in lines if k == name]
        environment = dict(os.environ)
        for setting in " ".join(value("Environment")).split(): environment.__setitem__(*setting.replace("%f", place).split("=", 1))
        def word(text):
            text = text.replace("%f", place).replace("/usr/bin/aclfs", program)
            return re.sub(r"\$\$|\$\{(\w+)\}", lambda m: "$" if m[0] == "$$" else environment[m[1]], text)
        (command,) = value(key)
        words = [word(w) for w in shlex.split(command)]
        os.execve(words[0], words, environment)
        END
        unit() { python3 "$T/run" "$UNIT" "$1" "$2" "$A"; }

        """#

    private func run(_ script: String) throws -> CommandResult {
        try MountNamespace().run("UNIT='\(Self.unit)'\n" + Self.setup + script)
    }

    @Test func itIsStartedAgainAndConditionsAreNotInItsWay() throws {
        let text = try String(contentsOfFile: Self.unit, encoding: .utf8)
        let sections = text.components(separatedBy: "[Service]")
        for line in ["StartLimitIntervalSec=60", "StartLimitBurst=5"] { #expect(sections[0].contains("\n\(line)\n")) }
        for line in ["Restart=on-failure", "RestartSec=500ms"] { #expect(sections[1].contains("\n\(line)\n")) }
        // ACLFS_SOURCE may lie on any file system of fstab.
        #expect(sections[0].contains("\nAfter=local-fs.target remote-fs.target "))
        #expect(!text.contains("\nAssert") && !text.contains("\nCondition"))
    }

    @Test(.enabled(if: isInstalled("systemd-analyze"), "no systemd-analyze (apt install systemd)"))
    func systemdUnderstandsEachLine() throws {
        let scratch = try ScratchDirectory("unit")
        let text = try String(contentsOfFile: Self.unit, encoding: .utf8)
        func verify(_ text: String) throws -> CommandResult {
            // The program of its commands need not be installed.
            let unit = text.replacingOccurrences(of: "/usr/bin/aclfs", with: MountTesting.program("aclfs"))
            try Data(unit.utf8).write(to: URL(fileURLWithPath: scratch.path + "/aclfs@.service"))
            return try Spawn.run(["systemd-analyze", "verify", "--man=no", scratch.path + "/aclfs@.service"])
        }
        let result = try verify(text)
        #expect(result.status == 0 && result.output.isEmpty, "\(result)")
        // It says so of a line that it ignores.
        #expect(try verify(text.replacingOccurrences(of: "Restart=on-failure", with: "Restart=onfailure")).output.contains("onfailure"))
    }

    @Test func aCrashLeavesADeadMountThatStartingHeals() throws {
        let result = try run(
            #"""
            echo secret >"$T/back/f"; dead() { stat "$1" 2>&1 | grep -q 'not connected' && echo dead; }
            is start 0 "$(unit ExecStart "$T/back" >/dev/null 2>&1; echo $?)"; is served secret "$(cat "$T/back/f" 2>&1)"
            for round in 1 2; do
                kill_daemon "$T/back"
                is "$round: behind the crash" 0 "$(SERVICE_RESULT=signal unit ExecStop "$T/back" 2>&1; echo $?)"
                is "$round: it stays closed" dead "$(dead "$T/back")"
                is "$round: start" 0 "$(unit ExecStart "$T/back" >/dev/null 2>&1; echo $?)"
                is "$round: served" secret "$(cat "$T/back/f" 2>&1)"; is "$round: one" 1 "$(mounted "$T/back")"
            done
            is stop 0 "$(SERVICE_RESULT=success unit ExecStop "$T/back" 2>&1; echo $?)"; is 'nothing stays' 0 "$(mounted "$T/back")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// What the unit does not look at any more.
    @Test func aclfsItselfSaysWhatIsWrongWithTheDirectory() throws {
        let result = try run(
            #"""
            said=$(unit ExecStart "$T/none" 2>&1); is 'not there' 32 $?; holds 'not there' "$said" "mount point $T/none: No such file or directory"
            touch "$T/file"; said=$(unit ExecStart "$T/file" 2>&1); is 'a file' 32 $?; holds 'a file' "$said" "mount point $T/file: Not a directory"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// By systemd's own reading of the file, where it is installed.
    @Test func systemdReadsIt() throws {
        guard (try? Spawn.run(["systemd-analyze", "--version"]))?.status == 0 else { return }
        let result = try run(
            #"""
            mkdir "$T/unit"; sed "s,/usr/bin/aclfs,$A,g" "$UNIT" >"$T/unit/aclfs@.service"
            cp "$T/unit/aclfs@.service" "$T/unit/aclfs@srv-share.service"
            # Of other units, and of manual pages that are not installed, it may say what it likes.
            systemd-analyze verify --man=no "$T/unit/aclfs@srv-share.service" 2>&1 | grep 'aclfs@\|ordering cycle'
            sed -i 's/^After=/Before=local-fs.target\n&/' "$T/unit/aclfs@srv-share.service"
            holds 'a cycle is found' "$(systemd-analyze verify --man=no "$T/unit/aclfs@srv-share.service" 2>&1)" 'ordering cycle'
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
