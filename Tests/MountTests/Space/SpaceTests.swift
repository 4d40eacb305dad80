import Foundation
import Glibc
import TestSupport
import Testing

/// Blocks that a write through the mount allocates are the caller's: root's reserve stays root's.
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct SpaceTests {
    let fixture: SpaceFixture
    /// Kilobytes that only root may use.
    let reserve: UInt64

    init() throws {
        fixture = try SpaceFixture()
        let free = try #require(fixture.backing).free
        reserve = free.all - free.forUsers
        #expect(reserve > 4000)
    }

    /// Both file systems are as full, within two blocks, and no user got at the reserve.
    private func expectEqualUse(_ location: SourceLocation = #_sourceLocation) throws {
        sync()
        let (native, backing) = (try #require(fixture.native).free, try #require(fixture.backing).free)
        #expect(native.all <= backing.all + 8 && backing.all <= native.all + 8, sourceLocation: location)
        #expect(backing.all + 8 >= reserve, sourceLocation: location)
    }

    private func expectSame(_ results: (native: String, mount: String), _ location: SourceLocation = #_sourceLocation) {
        #expect(results.mount == results.native, sourceLocation: location)
    }

    /// A large write that does not fit may leave some blocks.
    private let fillToTheLast =
        "cat /dev/zero 2>/dev/null > $D/f; while echo x | dd of=$D/f bs=4k oflag=append conv=notrunc,sync 2>/dev/null; do true; done; sync -f $D"

    @Test func allocatingEndsWhereItEndsNatively() throws {
        for user in [TestUser.alice, .root] {
            var counts: [Int] = []
            for place in [fixture.nativePlace, fixture.place] {
                let process = try ActingProcess(user)
                try process.must("hold", "1", "\(place)/\(user.uid)", String(O_RDWR | O_CREAT), "0644")
                var count = 0
                var result = CallResult(word: "ok", value: "")
                while true {
                    result = try process.call("fallocate", "1", "0", String(count * 65_536), "65536")
                    guard result.isOK else { break }
                    count += 1
                }
                #expect(result.word == "ENOSPC")
                counts.append(count)
            }
            #expect(counts[0] == counts[1])
            if user == .alice { try expectEqualUse() }
        }
    }

    @Test func namesEndWhereTheyEndNatively() throws {
        // Little room, then names so long that a block of the directory holds few.
        let script = """
            cat /dev/zero 2>/dev/null > $D/f; truncate -s -131072 $D/f; sync -f $D
            n=0; x=$(printf %0240d 0)
            while { true > $D/$x$n; } 2>/dev/null; do n=$((n+1)); done; echo $n; ls $D | wc -l
            touch $D/$x$n 2>&1 | grep -o 'No space.*'
            """
        let results = try fixture.both(.alice, script)
        let (native, mount) = (results.native.split(separator: "\n"), results.mount.split(separator: "\n"))
        try #require(native.count == 3 && mount.count == 3, "\(results)")
        let (first, second) = (try #require(Int(native[0])), try #require(Int(mount[0])))
        // A block holds 15 of them.
        #expect(abs(first - second) <= 30 && second > 30, "\(results)")
        #expect(try #require(Int(mount[1])) == second + 1, "a name was left behind")
        #expect(native.last == mount.last)
        try expectEqualUse()
    }

    @Test func directoriesAndLinksEndWhereTheyEndNatively() throws {
        let script = """
            cat /dev/zero 2>/dev/null > $D/f; sync -f $D
            n=0; while mkdir $D/d$n 2>/dev/null; do n=$((n+1)); done; echo $n; mkdir $D/last 2>&1 | grep -o 'No space.*'
            x=$(printf %0240d 0); true > $D/d0/x; n=0; while ln $D/d0/x $D/d1/$x$n 2>/dev/null; do n=$((n+1)); done; echo $n
            n=0; while :; do true > $D/d0/m$n; mv $D/d0/m$n $D/d2/$x$n 2>/dev/null || break; n=$((n+1)); done; echo $n
            """
        expectSame(try fixture.both(.alice, script))
        try expectEqualUse()
    }

    @Test func touchOnAFullDiskIsAsNatively() throws {
        let script = """
            cat /dev/zero 2>/dev/null > $D/f; sync -f $D; touch $D/new 2>&1 | grep -o 'No space.*'
            echo text 2>&1 > $D/new | grep -o 'No space.*'
            stat -c '%U %a %s' $D/new; rm $D/f; echo text > $D/new; cat $D/new
            """
        expectSame(try fixture.both(.alice, script))
    }

    @Test func attributesDoNotUseTheReserve() throws {
        let script = "\(fillToTheLast); for n in 1 2 3 4 5 6 7 8; do true > $D/n$n; done; ls $D | wc -l"
        expectSame(try fixture.both(.alice, script))
        let alice = try ActingProcess(.alice)
        let root = try ActingProcess(.root)
        var words: [String] = []
        for number in 1...8 {
            words.append(
                try alice.call("setxattr", fixture.place + "/n\(number)", "user.x", String(repeating: String(number), count: 500)).word)
        }
        #expect(words.last == "ENOSPC")
        #expect(try #require(fixture.backing).free.all + 8 >= reserve)
        // Root can still deny: that is what a reserve is for.
        let list = (0..<20).map { "user:#\(600 + $0) deny read" }.joined(separator: "\n")
        try root.must("setxattr", fixture.place + "/n8", "system.aclfs.acl", list)
    }

    @Test func whatDoesNotFitLeavesNothing() throws {
        // A list of 20 entries needs a block of its own; there is none.
        let root = try ActingProcess(.root)
        let list = (0..<20).map { "user:#\(600 + $0) allow read,file_inherit,directory_inherit" }.joined(separator: "\n")
        try root.must("mkdir", fixture.place + "/in", "0777", "0")
        try root.must("setxattr", fixture.place + "/in", "system.aclfs.acl", list)
        _ = try TestUser.alice.shell("D=\(fixture.place); \(fillToTheLast)")
        let alice = try ActingProcess(.alice)
        // Equal lists share a block, and one block more may be found.
        var word = "ok"
        for number in 0..<64 where word == "ok" {
            word = try alice.call("create", fixture.place + "/in/n\(number)", "0644", "0").word
        }
        #expect(word == "ENOSPC")
        #expect(try alice.call("create", fixture.place + "/in/again", "0644", "0").word == "ENOSPC")
        #expect(try alice.call("mkdir", fixture.place + "/in/dir", "0755", "0").word == "ENOSPC")
        #expect(try alice.call("stat", fixture.place + "/in/again").word == "ENOENT")
        #expect(try alice.call("stat", fixture.place + "/in/dir").word == "ENOENT")
    }
}
