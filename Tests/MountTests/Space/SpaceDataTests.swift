import Foundation
import Glibc
import Testing

/// Whose space data takes, whichever way it goes.
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct SpaceDataTests {
    private struct World {
        let fixture: SpaceFixture
        /// Kilobytes that only root may use.
        let reserve: UInt64

        init(_ way: String) throws {
            fixture = try SpaceFixture(mountOptions: way)
            let free = try #require(fixture.backing).free
            reserve = free.all - free.forUsers
            #expect(reserve > 4000)
        }

        /// Both file systems are as full, within two blocks, and no user got at the reserve.
        func expectEqualUse(_ location: SourceLocation = #_sourceLocation) throws {
            sync()
            let (native, backing) = (try #require(fixture.native).free, try #require(fixture.backing).free)
            #expect(native.all <= backing.all + 8 && backing.all <= native.all + 8, sourceLocation: location)
            #expect(backing.all + 8 >= reserve, sourceLocation: location)
        }
    }

    private static func expectSame(
        _ results: (native: String, mount: String), _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(results.mount == results.native, sourceLocation: location)
    }

    private let fill = "cat /dev/zero 2>&1 > $D/f | grep -o 'No space.*'; stat -c '%s %u' $D/f"

    @Test(arguments: dataWays) func writingEndsWhereItEndsNatively(_ way: String) throws {
        let world = try World(way)
        let fixture = world.fixture
        let results = try fixture.both(.alice, fill)
        Self.expectSame(results)
        #expect(results.mount.contains("No space left on device"))
        try world.expectEqualUse()
        // And root goes on, into the reserve, as far as natively.
        Self.expectSame(try fixture.both(.root, "cat /dev/zero 2>&1 > $D/r | grep -o 'No space.*'; stat -c '%s %u' $D/r"))
        #expect(try #require(fixture.backing).free.all < world.reserve / 4)
        let (native, backing) = (try #require(fixture.native).free, try #require(fixture.backing).free)
        #expect(native.all <= backing.all + 8 && backing.all <= native.all + 8)
    }

    @Test(arguments: dataWays) func appendingEndsWhereItEndsNatively(_ way: String) throws {
        let world = try World(way)
        let fixture = world.fixture
        Self.expectSame(
            try fixture.both(.alice, "dd if=/dev/zero of=$D/f bs=60k oflag=append conv=notrunc 2>&1 | tail -n +4 | wc -l; stat -c %s $D/f"))
        try world.expectEqualUse()
    }

    @Test(arguments: dataWays) func fillingAHoleEndsWhereItEndsNatively(_ way: String) throws {
        let world = try World(way)
        let fixture = world.fixture
        // The gap does not fit and stays. While that is found out once more, whoever opens the file takes part in it.
        _ = try fixture.both(.alice, "truncate -s 100M $D/f 2>/dev/null")
        try fixture.mount?.untilNothingWaits()
        let script = """
            dd if=/dev/zero of=$D/f bs=64k conv=notrunc 2>&1 | grep -o -e 'No space.*' -e '^[0-9]*+0 records out'
            stat -c %s $D/f
            """
        Self.expectSame(try fixture.both(.alice, script))
        try world.expectEqualUse()
    }

    @Test(arguments: dataWays) func copyingEndsWhereItEndsNatively(_ way: String) throws {
        let world = try World(way)
        let fixture = world.fixture
        // cp uses copy_file_range(2).
        let script = """
            head -c 5000000 /dev/zero > $D/a; n=0; while cp $D/a $D/c$n 2>/dev/null; do n=$((n+1)); done; echo $n
            cp $D/a $D/last 2>&1 | grep -o 'No space.*'
            """
        let results = try fixture.both(.alice, script)
        Self.expectSame(results)
        #expect(results.mount.contains("No space"))
        try world.expectEqualUse()
    }

    @Test(arguments: dataWays) func aMappingDoesNotUseTheReserve(_ way: String) throws {
        let world = try World(way)
        let fixture = world.fixture
        // The kernel sends pages of mappings later, as user 0, whoever wrote them.
        let alice = try ActingProcess(.alice)
        try alice.must("hold", "1", fixture.place + "/f", String(O_RDWR | O_CREAT), "0644")
        try alice.must("ftruncate", "1", String(40 << 20))
        #expect(try !alice.call("mapfill", "1").isOK)
        sync()
        #expect(try #require(fixture.backing).free.all + 8 >= world.reserve)
        #expect(try #require(fixture.backing).free.forUsers < 200)
    }

    /// A descriptor of root's does not open root's reserve to whom it is given.
    @Test(arguments: dataWays) func aDescriptorThatRootPassesOnIsBoundLikeItsUser(_ way: String) throws {
        let world = try World(way)
        let act = MountTesting.program("aclfs-act")
        let script = "\(act) 501 20 - -- sh -c 'cat /dev/zero 2>/dev/null' > $D/f; sync -f $D; stat -c %s $D/f"
        Self.expectSame(try world.fixture.both(.root, script))
        try world.expectEqualUse()
    }
}
