import Glibc
import TestSupport
import Testing

/// What a fill does to st_mtime (docs/internals/zerofill.md "What else can be seen"). A process of its own does it: what a test's own process
/// has open is inherited by whatever another test starts.
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct ZeroFillTimeTests {
    private func expectNone(_ mode: String, _ rounds: Int, _ way: String) throws {
        // A round reserves 8 GB; ext4 gives what was unlinked back only with its journal's next commit, and a busy disk lets it wait.
        let fixture = try ZeroFillFixture(.ext4, way, megabytes: 60 << 10)
        let words = [MountTesting.program("aclfs-gaps"), mode, "\(MountTesting.isLong ? rounds * 20 : rounds)", fixture.path("f")]
        let result = try Spawn.run(TestUser.alice.arguments + ["--"] + words)
        #expect(result.status == 0 && result.output == "0", "\(result)")
    }

    /// As make, tar and rsync compare it.
    @Test(arguments: dataWays) func whatAProgramSetsBeforeItClosesStays(_ way: String) throws { try expectNone("kept", 20, way) }

    /// After fork: what closes is not what writes, and a program that trusts times must not miss the write.
    @Test(arguments: dataWays) func aWriteBesideTheCloseOfASharedHandleMovesTheTime(_ way: String) throws {
        try expectNone("shared", 40, way)
    }

    @Test(arguments: dataWays) func aStoreThroughAMappingMovesTheTime(_ way: String) throws { try expectNone("stored", 20, way) }

    /// A mapping holds the handle; its going must not undo it.
    @Test(arguments: dataWays) func aTimeThatIsSetAfterTheCloseStays(_ way: String) throws { try expectNone("set", 10, way) }

    /// tar compares st_ctime before and after it reads a file, and warns. What the fill does later is not shown, and what a
    /// program does is.
    @Test(arguments: dataWays) func theChangeTimeIsThatOfTheClose(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        for name in ["one", "two", "three"] {
            let call = "echo | \(MountTesting.program("aclfs-gaps")) close 3000000 \(fixture.path(name))"
            let result = try Spawn.run(TestUser.alice.arguments + ["--", "sh", "-c", call])
            #expect(result.status == 0, "\(result)")
            let closed = try fixture.status(name, onMount: true).st_ctim
            #expect(try fixture.untilFilled(name).isEmpty)
            try eventually { try fixture.statusNumber("files_waiting") == 0 }
            let (shown, real) = (try fixture.status(name, onMount: true).st_ctim, try fixture.status(name).st_ctim)
            #expect(shown.tv_sec == closed.tv_sec && shown.tv_nsec == closed.tv_nsec, "\(name): \(closed), then \(shown)")
            #expect(real.tv_sec != closed.tv_sec || real.tv_nsec != closed.tv_nsec, "\(name): the fill has moved nothing")
            #expect(chmod(fixture.path(name), 0o604) == 0)
            let changed = try fixture.status(name, onMount: true).st_ctim
            #expect((changed.tv_sec, changed.tv_nsec) > (real.tv_sec, real.tv_nsec))
        }
    }

    @Test(arguments: dataWays) func whoLooksDuringACloseSeesNoTimeGoBack(_ way: String) throws { try expectNone("looked", 20, way) }
}
