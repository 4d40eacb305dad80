import Foundation
import Glibc
import TestSupport
import Testing

/// Real programs leave out exactly what is excluded (docs/guide/backup.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct BackupProgramTests {
    private let fixture: MountFixture

    init() throws { fixture = try MountFixture() }

    private static func has(_ program: String) -> Bool {
        (try? Spawn.run(["sh", "-c", "command -v \(program)"]))?.status == 0
    }

    private func shell(_ script: String, locale: String = "C.UTF-8") throws -> CommandResult {
        let environment = [
            "M=\(fixture.path("tree"))", "E=\(fixture.top)/expected", "OUT=\(fixture.top)/out",
            "W=\(fixture.top)/lists", "ACLFS=\(MountTesting.program("aclfs"))", "LC_ALL=\(locale)", "HOME=/root",
            "BORG_BASE_DIR=\(fixture.top)/borg", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes",
            "RESTIC_PASSWORD=secret",
        ]
        return try Spawn.run(["env"] + environment + ["bash", "-c", script])
    }

    /// Backs the tree up into `$OUT`, then compares names and kinds.
    private func saves(_ script: String, newlines: Bool, links: Bool = true, locale: String = "C.UTF-8") throws {
        let made = try shell("mkdir -p $W $OUT\n" + BackupTrees.script(newlines: newlines, links: links), locale: locale)
        try #require(made.status == 0, "\(made)")
        let saved = try shell("set -eu -o pipefail\n" + script, locale: locale)
        #expect(saved.status == 0, "\(saved)")
        let compared = try shell(
            """
            list() { (cd "$1"; find . -mindepth 1 -printf '%y %P\\0') | LC_ALL=C sort -z | tr '\\0\\n' '\\n?'; }
            list "$E" >$W/expected; list "$OUT" >$W/found
            [ "$(wc -l <$W/expected)" -gt 200 ] || exit 3
            diff $W/expected $W/found | cat -v
            exit ${PIPESTATUS[0]}
            """)
        #expect(compared.status == 0, "what differs: < should be there, > should not\n\(compared)")
    }

    @Test(.enabled(if: has("rsync"), "no rsync (apt install rsync)"))
    func rsyncLeavesOutWhatTheListNames() throws {
        try saves(
            """
            $ACLFS backup list --format=rsync $M >$W/list
            rsync -a --exclude-from=$W/list $M/ $OUT/
            """, newlines: false)
    }

    @Test(.enabled(if: has("rsync"), "no rsync (apt install rsync)"))
    func rsyncWithFrom0TakesNewlines() throws {
        try saves(
            """
            cd $M; $ACLFS backup list -0 --format=rsync . >$W/list
            rsync -a --from0 --exclude-from=$W/list $M/ $OUT/
            """, newlines: true)
    }

    @Test(.enabled(if: has("tar"), "no GNU tar (apt install tar)"), arguments: ["C.UTF-8", "C"])
    func tarLeavesOutWhatTheListNames(locale: String) throws {
        try saves(
            """
            $ACLFS backup list --format=tar $M >$W/list
            tar -C $M --exclude-from=$W/list -c . | tar -C $OUT -x
            """, newlines: false, locale: locale)
    }

    @Test(.enabled(if: has("restic"), "no restic (apt install restic)"))
    func resticLeavesOutWhatTheListNames() throws {
        try saves(
            """
            cd $M/..; $ACLFS backup list --format=restic tree >$W/list
            restic --no-cache -q -r $W/repository init
            restic --no-cache -q -r $W/repository backup --exclude-file=$W/list $M
            restic --no-cache -q -r $W/repository restore latest --target $W/restored
            mv $W/restored/$M/* $W/restored/$M/.[!.]* $OUT/
            """, newlines: false)
    }

    @Test(
        .enabled(if: has("borg"), "no borg (apt install borgbackup)"), arguments: zip(["C.UTF-8", "C"], ["$M", "."]))
    func borgLeavesOutWhatTheListNames(locale: String, path: String) throws {
        try saves(
            """
            cd $M; $ACLFS backup list --format=borg \(path) >$W/list
            borg init -e none $W/repository
            borg create --exclude-from $W/list $W/repository::one \(path)
            cd $OUT; borg extract $W/repository::one --strip-components $(tr -cd / <<<\(path) | wc -c)
            """, newlines: true, locale: locale)
    }

    @Test(.enabled(if: has("borg"), "no borg (apt install borgbackup)"))
    func borgSeesTheFlag() throws {
        try saves(
            """
            borg init -e none $W/repository
            borg create --exclude-nodump $W/repository::one $M
            cd $OUT; borg extract $W/repository::one --strip-components $(tr -cd / <<<$M | wc -c)
            """, newlines: true, links: false)
    }

    @Test(.enabled(if: has("bsdtar"), "no bsdtar (apt install libarchive-tools)"))
    func bsdtarSeesTheFlag() throws {
        try saves("bsdtar -C $M --nodump -cf - . | tar -C $OUT -x", newlines: true, links: false)
    }

    @Test func nullSurvivesEveryName() throws {
        try saves(
            """
            cp -a $M/. $OUT/
            cd $M; $ACLFS backup list --format=null . | (cd $OUT; xargs -0 rm -r --)
            """, newlines: true)
    }

    /// A pattern that hits nothing else does not exist: the object stays, and the command says so.
    @Test(arguments: ["lines", "rsync", "tar", "restic"])
    func whatCannotBeNamedStaysIn(format: String) throws {
        let made = try shell(
            """
            mkdir -p $M $W; cd $M; touch new line $'new\\nline' plain
            $ACLFS backup exclude $'new\\nline' plain
            $ACLFS backup list --format=\(format) . >$W/list 2>$W/error
            """)
        #expect(made.status == 1)
        let list = try String(contentsOfFile: fixture.top + "/lists/list", encoding: .utf8)
        #expect(list.split(separator: "\n").count == 1 && list.hasSuffix("plain\n"))
        let error = try String(contentsOfFile: fixture.top + "/lists/error", encoding: .utf8)
        #expect(error.hasPrefix("aclfs: ./new\\x0aline: ") && error.contains(format))
    }
}
