import Foundation
import Glibc
import TestSupport
import Testing

/// docs/man: the pages are what the program says of itself, they are clean, and their examples work.
@Suite(.serialized, .enabled(if: access(MountTesting.program("aclfs"), X_OK) == 0, "the program is not built next to the tests"))
struct ManualTests {
    private static let directory = Repository.top.appendingPathComponent("docs/man").path
    private static let pages =
        (try? FileManager.default.contentsOfDirectory(atPath: directory))?.filter {
            $0.wholeMatch(of: /.*\.[1-9]/) != nil
        }.sorted() ?? []
    private static let maker = Repository.top.appendingPathComponent("Scripts/make-man").path

    private static func text(_ page: String) throws -> String { try String(contentsOfFile: "\(directory)/\(page)", encoding: .utf8) }

    @Test(.enabled(if: isInstalled("python3"), "no python3 (apt install python3)"))
    func thePagesAreWhatTheCommandsSay() throws {
        let result = try Spawn.run([Self.maker, MountTesting.program("aclfs"), "--check"])
        #expect(result.status == 0 && result.output.isEmpty, "\(result)")
    }

    /// A command without a page, a page without a command and a page that was edited are named, with what to do.
    @Test(.enabled(if: isInstalled("python3"), "no python3 (apt install python3)"))
    func whatIsMissingIsNamed() throws {
        let scratch = try ScratchDirectory("manual")
        let there = "docs/man"
        let script = #"""
            set -eu; M=docs/man; cd "$1"; mkdir Scripts docs; cp "${2%/*}/command_help.py" "$2" Scripts; cp -R "$3" docs/man
            cat >program <<END
            #!/bin/sh
            case "\$*" in
            --help) '$4' --help | sed 's/^  chmod .*/  frob       what no page has yet\n             aclfs frob x\n&/' ;;
            'frob --help') printf 'OVERVIEW: Frobs.\n\nUSAGE: aclfs frob [--hard] PATH\n\nARGUMENTS:\n  <PATH>\n\nOPTIONS:\n  --hard                  Much.\n' ;;
            *) exec '$4' "\$@" ;;
            esac
            END
            chmod +x program; touch $M/aclfs-gone.1; echo more >>$M/aclfs-ls.1
            Scripts/make-man ./program --check || echo "status $?"
            Scripts/make-man ./program; Scripts/make-man ./program --check; ls $M/aclfs-gone.1 2>&1 || :; grep -c frob $M/aclfs.1
            grep -A1 '^.TP' $M/aclfs-frob.1
            """#
        let result = try Spawn.run(["bash", "-c", script, "bash", scratch.path, Self.maker, Self.directory, MountTesting.program("aclfs")])
        for line in [
            "\(there)/aclfs-frob.1 is missing, which the command's help says: run make man",
            "\(there)/aclfs-gone.1 is the page of no command: run make man",
            "\(there)/aclfs-ls.1 is not what the command's help says: run make man", "\(there)/aclfs.1 is not what", "status 1",
            "No such file", "\n1\n",
            "\\fB\\-\\-hard\\fR",
        ] { #expect(result.output.contains(line), "\(line) is not in \(result)") }
    }

    @Test(arguments: pages) func aPageHasNoMistakes(_ page: String) throws {
        let path = "\(Self.directory)/\(page)"
        for (program, arguments) in [
            ("man", ["--warnings", "-E", "UTF-8", "-l", path]), ("mandoc", ["-Tlint", "-Wwarning", path]),
            ("groff", ["-ww", "-z", "-man", path]),
        ] {
            guard isInstalled(program) else {
                print("ManualTests: no \(program) here (Scripts/install-dependencies clients)")
                continue
            }
            let words = ([program] + arguments).map { "'\($0)'" }.joined(separator: " ")
            let result = try Spawn.run([
                "bash", "-o", "pipefail", "-c", "LC_ALL=C.UTF-8 MANWIDTH=80 \(words) \(program == "man" ? ">/dev/null" : "")",
            ])
            // A page has a date from the first release on.
            let lines = result.output.split(separator: "\n").filter { !$0.contains("missing date, using \"\"") }
            #expect(lines.isEmpty && (result.status == 0 || program == "mandoc"), "\(program): \(result)")
        }
        let text = try Self.text(page)
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"] { #expect(text.contains("\n.SH \(section)\n"), "\(section)") }
        if page != "aclfs-acl.5", page != "mount.aclfs.8" {
            for section in ["EXAMPLES", "EXIT STATUS"] { #expect(text.contains("\n.SH \(section)\n"), "\(section)") }
        }
        // Pages that are named are there.
        for match in text.matches(of: /\.BR (aclfs[\w\\-]*|mount\.aclfs) \((\d)\)/) {
            let named = match.1.replacingOccurrences(of: "\\", with: "") + "." + match.2
            #expect(Self.pages.contains(named), "\(named)")
        }
    }

    // MARK: Examples

    /// The lines of a page's examples.
    private static func examples(_ page: String) throws -> [String] {
        let examples =
            try text(page).components(separatedBy: "\n.SH EXAMPLES\n").dropFirst().first?.components(separatedBy: "\n.SH ")[0] ?? ""
        var lines: [String] = []
        var isInside = false
        for line in examples.components(separatedBy: "\n") {
            if line == ".EX" || line == ".EE" { isInside = line == ".EX" } else if isInside { lines.append(unescaped(line)) }
        }
        return lines
    }

    private static func unescaped(_ line: String) -> String {
        [("\\-", "-"), ("\\(aq", "'"), ("\\(ti", "~"), ("\\&", ""), ("\\e", "\\")].reduce(line) {
            $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
    }

    @Test(
        .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"),
        arguments: [
            "aclfs-chmod.1", "aclfs-chflags.1", "aclfs-ls.1", "aclfs-effective.1", "aclfs-backup.1", "aclfs-acl.8", "aclfs-restore.8",
            "aclfs-status.1", "aclfs-propagate.8", "aclfs-inherit.8", "aclfs-explicit.8", "aclfs-strip.8", "aclfs-copy-mode.8",
            "aclfs-volume.8", "aclfs-preset.8", "aclfs-purge.8",
        ])
    func theExamplesWork(_ page: String) throws {
        let accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502], groups: [20: .init(name: "staff", members: ["alice", "bob"])])
        // Daemons of other tests may stand still, or have no time.
        _ = try Spawn.run(accounts.within + ["sh", "-c", "mkdir -p /run/aclfs && mount -t tmpfs -o mode=755 none /run/aclfs"])
        let fixture = try MountFixture(within: accounts.within)
        let needsNoMount = page.hasSuffix("restore.8") || page.hasSuffix("volume.8")
        var examples = try Self.examples(page).filter { !$0.hasPrefix("rsync ") && !$0.contains("| jq") }
        #expect(!examples.isEmpty)
        if page == "aclfs-restore.8" { examples = ["aclfs acl import --posix --undo-file import.undo /srv/back/share"] + examples }
        // In the order of the page, each after the ones above it.
        let script = #"""
            cd "$1"; A=$2; aclfs() { "$A" "$@"; }; shift 2
            mkdir build folder; touch plans copy other log folder/plans
            for example in "$@"; do eval "$example"; echo "ends with $?"; done
            """#
        if needsNoMount {
            try fixture.unmount()
            _ = try Spawn.run(["bash", "-c", "cd '\(fixture.backing)'; touch a; setfacl -m u:502:r a"])
        }
        // POSIX ACLs are imported when the share is not mounted any more.
        if let index = examples.firstIndex(where: { $0.contains("--posix") }), !needsNoMount {
            examples.insert("aclfs unmount /srv/share && touch /srv/back/share/a && setfacl -m u:502:r /srv/back/share/a", at: index)
        }
        let lines = examples.map {
            $0.replacingOccurrences(of: "/srv/back/share", with: fixture.backing).replacingOccurrences(
                of: "/srv/share", with: fixture.mountpoint)
        }
        let place = needsNoMount || page == "aclfs-acl.8" ? fixture.top : fixture.mountpoint
        if !needsNoMount { _ = try Spawn.run(["touch", fixture.path("plans")]) }
        let result = try Spawn.run(accounts.within + ["bash", "-uc", script, "bash", place, MountTesting.program("aclfs")] + lines)
        let statuses = result.output.components(separatedBy: "\n").filter { $0.hasPrefix("ends with ") }
        let complaints = result.output.components(separatedBy: "\n").filter { $0.contains("aclfs: ") && !$0.contains(": warning: ") }
        #expect(statuses == lines.map { _ in "ends with 0" } && complaints.isEmpty, "\(lines) \(result)")
    }
}
