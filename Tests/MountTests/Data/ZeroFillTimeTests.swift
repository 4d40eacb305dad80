import TestSupport
import Testing

/// What a fill does to st_mtime (docs/zerofill.md "What else can be seen"). A process of its own does it: what a test's own process
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

    @Test(arguments: dataWays) func whoLooksDuringACloseSeesNoTimeGoBack(_ way: String) throws { try expectNone("looked", 20, way) }
}
