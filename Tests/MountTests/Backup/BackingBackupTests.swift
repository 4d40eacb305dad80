import Foundation
import TestSupport
import Testing

/// The commands of docs/guide/backup-and-restore.md on a backing directory that has everything that aclfs stores. Each cell of the table there is
/// compared with what the restored directory shows on a mount.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct BackingBackupTests {
    private static let document =
        (try? String(contentsOf: Repository.top.appendingPathComponent("docs/guide/backup-and-restore.md"), encoding: .utf8)) ?? ""

    /// The commands of a section.
    private static func commands(_ section: String) -> [String] {
        let text = document.components(separatedBy: "\n## \(section)\n").last?.components(separatedBy: "\n## ").first ?? ""
        return text.split(separator: "\n").compactMap { $0.hasPrefix("    $ ") ? String($0.dropFirst(6)) : nil }
    }

    /// The rows of the table, with whether the program keeps them.
    private static func table(_ program: String) -> [String: Bool] {
        let rows = document.split(separator: "\n").filter { $0.hasPrefix("|") }
            .map { $0.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) } }
        guard let column = rows.first?.firstIndex(of: program) else { return [:] }
        return Dictionary(rows.dropFirst(2).map { ($0[1], $0[column] == "yes") }, uniquingKeysWith: { first, _ in first })
    }

    /// `state MOUNT` prints a line for each thing that is stored, with the row of the table before it.
    private static let prelude = #"""
        A=$1; aclfs() { "$A" "$@"; }
        export RESTIC_PASSWORD=secret BORG_PASSPHRASE=secret HOME=/srv/home LC_ALL=C
        mount -t tmpfs -o mode=755 tmpfs /srv && cd /srv && install -d -m 0700 back && mkdir back/share back/restored backups backups/share share check home
        scene() {
            cd "$1"; mkdir team team/build 'a b'; echo plans >team/plans; echo log >team/log; echo fixed >team/fixed; echo x >team/build/o; echo x >'a b/x y'
            ln team/plans team/hard; ln -s plans team/link; mkfifo team/fifo
            chown -R 501:20 .; chmod 2750 team; chmod 640 team/plans; chmod 4755 'a b/x y'
            aclfs chmod +a 'user:502 allow list,search,file_inherit,directory_inherit' . team
            aclfs chmod +a 'group:601 deny write,append' team/plans; aclfs chmod +a 'user:502 allow read,write' team/plans
            aclfs chmod -h +a 'user:503 deny readattr' team/link; aclfs chmod +a 'user:502 allow read' team/fifo; echo | aclfs chmod -E 'a b'
            echo new >team/inherited; chown 501:20 team/inherited
            setfattr -n system.aclfs.owner -v ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000259 'a b/x y'; setfattr -n user.note -v text team/plans
            aclfs backup exclude team/build team/plans; aclfs chflags uchg team/fixed; aclfs chflags uappnd,hidden team/log
            touch -d '2020-02-03 04:05:06.789' 'a b' team/inherited; cd /srv
        }
        value() { getfattr -h --only-values -n "$1" "$f" 2>/dev/null | tr '\n' ';'; }
        state() {
            cd "$1"
            find . | sort | while IFS= read -r f; do
                kind='lists of files and directories'
                [ -p "$f" ] && kind='lists of FIFOs'; [ -L "$f" ] && kind='lists of symbolic links'
                echo "$kind|$f $(value system.aclfs.acl)"
                echo "flags|$f $(value system.aclfs.flags | sed 's/nodump//')"
                echo "owner, group, mode|$f $(stat -c '%A %u %g' "$f") $(value system.aclfs.owner) $(value system.aclfs.group)"
                echo "exclude from backup|$f $(value system.aclfs.flags | grep -o nodump) $(getfattr -h -d -m 'apple|xdg' "$f" 2>/dev/null | tr '\n' ' ')"
                echo "other attributes|$f $(value user.note)"
                echo "hard links|$f $(stat -c %h "$f")"
                [ -f "$f" ] && echo "data and times|$f $(cat "$f")"
                [ "$f" = . ] && echo "the time of the top|$(stat -c %Y "$f")" || echo "data and times|$f $(stat -c %y "$f")"
            done
            cd /srv
        }
        aclfs mount /srv/back/share /srv/share && scene /srv/share && sleep 1.1

        """#

    private func run(_ script: String) throws -> CommandResult {
        try Spawn.run(
            ["unshare", "--mount", "--propagation", "private", "bash", "-uc", Self.prelude + script, "bash", MountTesting.program("aclfs")])
    }

    @Test func eachCellOfTheTable() throws {
        // What is missing here is named by Backup* tests of the same programs.
        let programs = ["rsync", "tar", "bsdtar", "cp", "restic", "borg"].filter(isInstalled)
        var script = "state /srv/share\n"
        for program in programs {
            // What follows it ends the check.
            let all = Self.commands(program)
            let commands = all.prefix { !$0.hasPrefix("aclfs unmount ") }
            #expect(commands.count >= 3 && commands.count == all.count - 1 && commands.last?.hasPrefix("aclfs mount ") == true)
            script += "echo then; rm -rf back/restored backups; mkdir back/restored backups backups/share\n"
            for command in commands { script += "{ \(command); } >said 2>&1 || { echo \"failed|$?\"; sed 's/^/failed|/' said; }\n" }
            script += "state /srv/check; aclfs unmount /srv/check\n"
        }
        let result = try run(script + "aclfs unmount /srv/share")
        let parts = result.output.components(separatedBy: "\nthen\n").map { (text: String) -> [String: [String]] in
            let lines: [String] = text.split(separator: "\n").map { String($0) }
            return Dictionary(grouping: lines) { line in String(line.prefix { $0 != "|" }) }
        }
        try #require(parts.count == programs.count + 1 && result.status == 0, "\(result)")
        let before = parts[0]
        for (program, after) in zip(programs, parts.dropFirst()) {
            #expect(after["failed"] == nil, "\(program): \(after["failed"] ?? [])")
            let table = Self.table(program)
            #expect(Set(table.keys) == Set(before.keys))
            for (row, isKept) in table {
                #expect((before[row] == after[row]) == isKept, "\(program), \(row): \(before[row] ?? []) and \(after[row] ?? [])")
            }
        }
        // What the scene has is there at all.
        let lists = before["lists of files and directories"] ?? []
        #expect(lists.contains { $0.contains("./team/plans") && $0.contains("deny write,append;") && $0.contains("allow read,write;") })
        #expect(lists.contains { $0.contains("./team/inherited") && $0.contains(" inherited allow ") })
        #expect(lists.contains { $0.hasPrefix("lists of files and directories|. ") && $0.contains("allow list,search") })
        #expect(before["lists of symbolic links"]?.first?.contains("deny readattr") == true)
        #expect(before["flags"]?.contains { $0.contains("./team/fixed uchg") } == true)
        #expect(before["exclude from backup"]?.contains { $0.contains("./team/build nodump") && $0.contains("excludeItem") } == true)
        #expect(before["owner, group, mode"]?.contains { $0.contains("a b/x y") && $0.contains("4294967195") } == true)
        #expect(before["hard links"]?.contains("hard links|./team/hard 2") == true)
    }

    /// The document from its first command to its last, as root types it who has nothing yet.
    @Test(.enabled(if: ["rsync", "bsdtar", "restic", "borg"].allSatisfy(isInstalled), "not all programs of the document are installed"))
    func theDocumentTypedInOrder() throws {
        let sections = Self.document.components(separatedBy: "\n## ").compactMap { $0.split(separator: "\n").first.map(String.init) }
        let commands = sections.dropFirst().flatMap(Self.commands)
        #expect(commands.count == 32)
        var script = "aclfs unmount /srv/share; mount -t tmpfs -o mode=755 tmpfs /srv; cd /srv\n"
        for command in commands {
            let named = command.replacingOccurrences(of: "'", with: "")
            script += "{ \(command); } >said 2>&1 || { echo '\(named)'; cat said; }\n"
            if command.hasPrefix("aclfs mount "), command.hasSuffix(" /srv/check") {
                script += "aclfs ls -le check/team/plans | grep -c ' deny write,append'\n"
            }
        }
        let result = try run(script + "aclfs unmount /srv/share")
        #expect(result.output.split(separator: "\n") == Array(repeating: "1", count: 6), "\(result)")
    }

    /// The restored directory decides as the first one did.
    @Test(.enabled(if: isInstalled("rsync"), "no rsync (apt install rsync)"))
    func decisionsAreTheSame() throws {
        let act = MountTesting.program("aclfs-act")
        let commands = Self.commands("rsync").prefix { !$0.hasPrefix("aclfs unmount ") }.joined(separator: "\n")
        let result = try run(
            """
            ask() {
                for user in '501 20 20' '502 502 601' '502 502 -' '503 503 -'; do
                    for f in . team team/plans team/fixed team/log 'a b/x y'; do
                        '\(act)' $user -- sh -c 'cat "$1" >/dev/null; ls "$1"; echo more >>"$1"; touch "$1/new"; rm -f "$1/new"; stat -c %a "$1"' sh "$1/$f" 2>&1 | sed "s#$1##g"
                    done
                done
            }
            (\(commands)) >/dev/null 2>&1; ask /srv/share >/srv/before; ask /srv/check >/srv/after
            diff /srv/before /srv/after && wc -l </srv/before; aclfs unmount /srv/check; aclfs unmount /srv/share
            """)
        #expect(Int(result.output).map { $0 > 60 } ?? false, "\(result)")
    }

    @Test(.enabled(if: isInstalled("rsync"), "no rsync (apt install rsync)"))
    func oneObjectComesBackWhileMounted() throws {
        let backup = Self.commands("rsync")[0]
        let restore = Self.commands("One object, while the share is mounted").joined(separator: "\n")
        let result = try run(
            """
            \(backup); f=/srv/share/team/plans; value system.aclfs.acl >/srv/before; aclfs chmod -N $f; echo other >$f
            rm $f; \(restore)
            for i in $(seq 150); do [ "$(cat $f 2>/dev/null)" = plans ] && [ "$(value system.aclfs.acl)" = "$(cat /srv/before)" ] && break; sleep 0.02; done
            cat $f; value system.aclfs.acl | diff - /srv/before && echo same; aclfs unmount /srv/share
            """)
        #expect(result.output == "plans\nsame", "\(result)")
    }
}
