import Foundation
import TestSupport
import Testing

/// Each cell of the table in docs/guide/copies.md, with the commands that stand below it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct CopyTableTests {
    private static let document =
        (try? String(contentsOf: Repository.top.appendingPathComponent("docs/guide/copies.md"), encoding: .utf8)) ?? ""

    /// The command of a program: the line begins with its name.
    static func command(_ program: String) -> String? {
        document.split(separator: "\n").first { $0.hasPrefix("    \(program) ") }?.components(separatedBy: " $ ").last
    }

    /// The rows of the table, with whether the program carries them.
    static func table(_ program: String) -> [String: Bool] {
        let rows = document.split(separator: "\n").filter { $0.hasPrefix("|") }
            .map { $0.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) } }
        guard let column = rows.first?.firstIndex(of: program) else { return [:] }
        return Dictionary(rows.dropFirst(2).map { ($0[1], $0[column] == "yes") }, uniquingKeysWith: { first, _ in first })
    }

    /// `scene` makes a tree on the first mount and a directory with inheritable entries on the second; `state` prints what the copy has.
    static let prelude = #"""
        A=$1; aclfs() { "$A" "$@"; }
        export RESTIC_PASSWORD=secret BORG_PASSPHRASE=secret HOME=/srv/home LC_ALL=C
        mount -t tmpfs -o mode=755 tmpfs /srv && cd /srv && install -d -m 0700 back && mkdir back/a back/b a b plain home && mkdir back/b/in
        aclfs mount back/a a; aclfs mount back/b b
        scene() {
            rm -rf a/* plain/* b/in repo; mkdir b/in; chmod 755 b/in
            aclfs chmod +a 'group:700 allow read,file_inherit,directory_inherit' b/in
            mkdir a/tree; aclfs chmod +a 'user:502 allow list,search,file_inherit,directory_inherit' a/tree
            cd a/tree; echo new >inherited; mkdir -p deep/er; echo new >deep/er/inherited; echo f >explicit; aclfs chmod -N explicit
            aclfs chmod +a 'user:503 deny write,append' explicit; aclfs chmod +a 'user:502 allow read,write' explicit
            ln -s explicit link; mkfifo pipe; for special in link pipe; do aclfs chmod -h +a 'user:503 deny readextattr' $special; done
            echo h >hidden; aclfs chflags hidden hidden; echo x >left-out; aclfs backup exclude left-out
            echo p >posix; chmod 640 posix; setfacl -m u:502:rw,u:503:--- posix; chown -R 501:20 .; chmod 640 explicit; cd /srv
        }
        state() {
            cd b/in/tree || return
            list() { getfattr -h --only-values -n system.aclfs.acl "$1" 2>/dev/null | sed 's/FFFFEEEE-DDDD-CCCC-BBBB-AAAA00000/u/; s/ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000/g/'; echo; }
            row() { [ "$2" = "$3" ] && echo "$1|yes" || echo "$1|no"; }
            row 'explicit entries' "$(printf 'u1F7 deny write,append\nu1F6 allow read,write')" "$(list explicit | grep -v ' inherited ')"
            row 'what setfacl set' 'user:502:rw-,user:503:---,mask::rw-' "$(getfacl -cnp posix | grep -E '^(user:5|mask)' | paste -sd ,)"
            row 'explicit entries of symbolic links' 'u1F7 deny readextattr' "$(list link | grep -v ' inherited ')"
            row 'explicit entries of FIFOs' 'u1F7 deny readextattr' "$(list pipe | grep -v ' inherited ')"
            row 'inheritable entries of a directory' 'u1F6 allow list,search,file_inherit,directory_inherit' "$(list . | grep -v ' inherited ')"
            row 'inherited entries of the new place' 'g2BC inherited allow read' "$(list inherited | grep g2BC)"
            row 'inherited entries of a directory in the copy' 'u1F6 inherited allow read,execute u1F6 inherited allow read,execute' \
                "$(echo $(list inherited | grep u1F6) $(list deep/er/inherited | grep u1F6))"
            row 'flags' hidden "$(getfattr --only-values -n system.aclfs.flags hidden)"
            row 'owner, group, mode' '501 20 640' "$(stat -c '%u %g %a' explicit)"
            row 'exclude from backup' '[Excluded]' "$(aclfs backup status left-out | grep -o '^.Excluded.')"
            cd /srv
        }
        repository() { rm -rf repo; case $1 in restic) restic -q -r repo init ;; borg) borg init -e none repo ;; esac; }

        """#

    @Test(arguments: ["cp", "mv", "rsync", "tar", "bsdtar", "restic", "borg"].filter(isInstalled))
    func eachCellOfTheTable(_ program: String) throws {
        let command = try #require(Self.command(program))
        func copying(_ from: String, _ to: String) -> String {
            // The commands name `from` and `to`.
            "repository \(program); rm -f from to; ln -s \(from) from; ln -s \(to) to; (\(command)) >said 2>&1 || { echo failed; cat said; }\n"
        }
        let script =
            "scene; \(copying("a", "b/in"))state; echo then\n" + "scene; \(copying("a", "plain"))\(copying("plain", "b/in"))state\n"
            + "aclfs unmount a; aclfs unmount b"
        let result = try Spawn.run(
            ["unshare", "--mount", "--propagation", "private", "bash", "-uc", Self.prelude + script, "bash", MountTesting.program("aclfs")])
        let table = Self.table(program)
        #expect(table.count == 10)
        let parts = result.output.components(separatedBy: "\nthen\n")
        #expect(parts.count == 2, "\(result)")
        for part in parts {
            let found = Dictionary(
                part.split(separator: "\n").map { ($0.components(separatedBy: "|")[0], $0.hasSuffix("|yes")) },
                uniquingKeysWith: { first, _ in first })
            #expect(found == table, "\(program): \(part)")
        }
    }

    /// Each line of "When it cannot be set", with a value that no mount takes.
    @Test func whatEachProgramSays() throws {
        let section = try #require(Self.document.components(separatedBy: "## When it cannot be set").last)
        let lines = section.split(separator: "\n").filter { $0.hasPrefix("- `") }
        #expect(lines.count == 8)
        for line in lines {
            let parts = line.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
            let program = try #require(parts[1].split(separator: " ").first.map(String.init))
            guard isInstalled(program) else { continue }
            let command = program == "cp" ? "\(parts[1]) from/tree to/" : try #require(Self.command(program))
            let script = """
                mkdir plain/tree; echo t >plain/tree/f; setfattr -n user.com.apple.acl.text -v broken plain/tree/f
                ln -s plain from; ln -s b/in to; repository \(program); (\(command)) >said 2>&1; status=$?
                [ -e b/in/tree/f ] || echo 'there is no copy'
                # borg speaks of a new repository.
                echo "$(grep -q 'acl.text' said && echo a || echo no) message, exit status $status"
                aclfs unmount a; aclfs unmount b
                """
            let words = ["unshare", "--mount", "--propagation", "private", "bash", "-uc", Self.prelude + script, "bash"]
            let result = try Spawn.run(words + [MountTesting.program("aclfs")])
            #expect(result.output == parts[2].dropFirst(2), "\(parts[1]): \(result)")
        }
    }
}
