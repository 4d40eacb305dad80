import Foundation
import Glibc
import TestSupport
import Testing

/// Commands on trees that a signal ends (docs/guide/administration.md "Undo files").
@Suite(.serialized, .enabled(if: MountTesting.isPossible && isInstalled("getfattr"), "needs root, /dev/fuse, attr"))
struct InterruptedCommandTests {
    private let tree: TreeFixture
    init() throws { tree = try TreeFixture() }

    private static let objects = 600
    private static let script = """
        set -e; mkdir d; (cd d && seq \(objects) | xargs touch)
        aclfs chmod +a 'user:503 allow read' d/7
        aclfs chmod +a 'user:501 allow read,write,file_inherit' d
        """

    /// Functions of a script: `begin WORD…` starts a command whose output nobody reads, and returns when it waits for that;
    /// `tell SIGNAL` returns when the command has taken the signal; `end` reads the output to its end.
    private var functions: String {
        """
        mkfifo ../pipe; exec 8<>../pipe 7<../pipe; yes '' | head -c 61440 >&8
        begin() {
            case $1 in restore) ;; acl) set -- "$1" "$2" --offline "${@:3}" ;; *) set -- "$1" --offline "${@:2}" ;; esac
            env --default-signal=INT,TERM,HUP '\(MountTesting.program("aclfs"))' "$@" >&8 2>../said 7<&- 8>&- & pid=$!
            until grep -q pipe_write /proc/$pid/wchan; do kill -0 $pid || return; sleep 0.02; done
        }
        tell() { kill -$1 $pid; until grep -q '^ShdPnd:[[:blank:]]*0*$' /proc/$pid/status; do sleep 0.02; done; sleep 0.1; }
        end() {
            timeout 60 cat <&7 >../printed 8>&- & reader=$!; exec 7<&- 8>&-
            status=0; { wait $pid || status=$?; } 2>/dev/null; wait $reader
            echo "status $status"; cat ../said; tail -n 1 ../printed; rm ../pipe
        }

        """
    }

    private func number(in line: String, after word: String) -> Int {
        line.split(separator: "\n").last { $0.hasPrefix(word) }.flatMap { Int($0.dropFirst(word.count).prefix { $0.isNumber }) } ?? -1
    }

    @Test(arguments: TreeFixture.Place.allCases, [("INT", 130), ("TERM", 143), ("HUP", 129)])
    func aCommandEndsBetweenTwoObjects(_ place: TreeFixture.Place, _ signal: (name: String, status: Int)) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.script)
        let before = try tree.snapshot()
        let top = try tree.go(to: place)
        let run = try tree.shell(functions + "begin propagate -v --undo-file '\(tree.undo)' d; tell \(signal.name); end", in: top)
        let advice =
            "aclfs: warning: SIG\(signal.name): propagate is not complete; run the same command with --undo-file \(tree.undo) --resume "
            + "to complete it, or aclfs restore \(tree.undo) to undo it"
        #expect(run.output.hasPrefix("status \(signal.status)\n\(advice)\nchanged "), "\(run)")
        let changed = number(in: run.output, after: "changed ")
        #expect(changed > 0 && changed < Self.objects)
        let interrupted = try tree.snapshot()
        let undone = try tree.aclfs("restore", tree.undo)
        #expect(undone.status == 0 && number(in: undone.output, after: "restored ") == changed, "\(undone)")
        #expect(try tree.snapshot() == before)
        #expect(unlink(tree.undo) == 0)

        // Again, and on to the end.
        _ = try tree.shell(functions + "begin propagate -v --undo-file '\(tree.undo)' d; tell \(signal.name); end", in: top)
        #expect(try tree.snapshot() != before && interrupted != before)
        let resumed = try tree.shell("aclfs propagate --undo-file '\(tree.undo)' --resume d", in: top)
        #expect(resumed.status == 0, "\(resumed)")
        #expect(try tree.shell("aclfs propagate d", in: top).output == "changed 0 objects")
        let restored = try tree.aclfs("restore", tree.undo)
        #expect(restored.output == "restored \(Self.objects) objects", "\(restored)")
        #expect(try tree.snapshot() == before)
    }

    @Test func withoutAnUndoFileTheCommandIsRepeated() throws {
        let top = try tree.go(to: .mount)
        try tree.shell(Self.script)
        let run = try tree.shell(functions + "begin propagate -v d; tell INT; end", in: top)
        #expect(
            run.output.hasPrefix(
                "status 130\naclfs: warning: SIGINT: propagate is not complete; run the same command again to complete it\nchanged "),
            "\(run)")
        let rest = try tree.shell("aclfs propagate d", in: top)
        #expect(number(in: run.output, after: "changed ") + number(in: rest.output, after: "changed ") == Self.objects, "\(rest)")
        let dry = try tree.shell(functions + "begin strip -R --dry-run d; tell TERM; end", in: top)
        #expect(dry.output.hasPrefix("status 143\naclfs: warning: SIGTERM: strip is not complete\nwould change "), "\(dry)")
    }

    @Test func aRestoreAndAnImportGoOn() throws {
        let top = try tree.go(to: .mount)
        try tree.shell(Self.script + "\naclfs propagate d; aclfs acl export d >../lists; aclfs strip -R d")
        let before = try tree.snapshot()
        let ended = try tree.shell(functions + "begin acl import -v --undo-file '\(tree.undo)' ../lists d; tell TERM; end", in: top)
        #expect(ended.output.hasPrefix("status 143\naclfs: warning: SIGTERM: acl import is not complete"), "\(ended)")
        let resumed = try tree.shell("aclfs acl import --undo-file '\(tree.undo)' --resume ../lists d", in: top)
        #expect(
            number(in: ended.output, after: "changed ") + number(in: resumed.output, after: "changed ") == Self.objects + 1, "\(resumed)")
        #expect(try tree.shell("aclfs acl export d | diff - ../lists", in: top).output == "")

        let cut = try tree.shell(functions + "begin restore -v '\(tree.undo)'; tell INT; end", in: top)
        #expect(
            cut.output.hasPrefix(
                "status 130\naclfs: warning: SIGINT: restore is not complete; run the same command again to complete it\nrestored "),
            "\(cut)")
        let rest = try tree.aclfs("restore", tree.undo)
        #expect(rest.status == 0, "\(rest)")
        #expect(number(in: cut.output, after: "restored ") + number(in: rest.output, after: "restored ") == Self.objects + 1, "\(rest)")
        #expect(try tree.snapshot() == before)
    }

    /// As under nohup; and a second signal does not wait.
    @Test func ignoredSignalsStayIgnoredAndASecondOneEndsAtOnce() throws {
        let top = try tree.go(to: .mount)
        try tree.shell(Self.script)
        let kept = try tree.shell(
            "trap '' HUP\n" + functions.replacing("INT,TERM,HUP", with: "INT,TERM") + "begin propagate -v d; tell HUP; end", in: top)
        #expect(kept.output == "status 0\nchanged \(Self.objects) objects", "\(kept)")
        let twice = try tree.shell(
            functions + """
                begin strip -R -v d; tell INT; kill -TERM $pid
                for i in $(seq 1500); do [ -e /proc/$pid ] || break; sleep 0.02; done; end
                """, in: top)
        #expect(twice.output.hasPrefix("status 143") && !twice.output.contains("complete"), "\(twice)")
    }

    /// Two lines for an object: the state before the first counts.
    @Test(arguments: TreeFixture.Place.allCases) func aRunThatWentOnWithAnotherAimIsUndone(_ place: TreeFixture.Place) throws {
        _ = try tree.go(to: .mount)
        try tree.shell(Self.script + "\naclfs propagate d")
        let before = try tree.snapshot()
        let top = try tree.go(to: place)
        let made = try tree.shell(
            "aclfs strip -R --inherited --undo-file '\(tree.undo)' d && aclfs strip -R --undo-file '\(tree.undo)' --resume d", in: top)
        #expect(made.output == "changed \(Self.objects) objects\nchanged \(Self.objects + 1) objects", "\(made)")
        let restored = try tree.aclfs("restore", tree.undo)
        #expect(restored.status == 0 && restored.output == "restored \(2 * Self.objects + 1) objects", "\(restored)")
        #expect(try tree.snapshot() == before)
    }

    /// A look-up that is refused makes the kernel forget the name of a directory, which the undo file needs.
    @Test func aForgottenNameIsFound() throws {
        let top = try tree.go(to: .mount)
        try tree.shell("mkdir -p p/d; touch p/d/1; aclfs chmod +a 'user:501 allow read,file_inherit' p/d; chmod 700 p")
        let carol = TestUser.carol.arguments.joined(separator: " ")
        let run = try tree.shell(
            """
            cd p/d; \(carol) -- stat '\(top)/p/d' >/dev/null 2>&1; readlink /proc/self/cwd
            aclfs propagate --undo-file '\(tree.undo)' .; head -n 1 '\(tree.undo)'
            """, in: top)
        #expect(run.output.hasPrefix("\(top)/p/d (deleted)\nchanged 1 object\n"), "\(run)")
        #expect(run.output.contains("\"source\":\"\(top)/p/d\""), "\(run)")
        let restored = try tree.aclfs("restore", tree.undo)
        #expect(restored.output == "restored 1 object", "\(restored)")
    }
}
