import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Positions in directories fit into 31 bits and stand for one name each (docs/decisions/0033-small-cookies.md).
@Suite(.serialized, .enabled(if: LoopTesting.isPossible && MountTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct SmallCookiesTests {
    /// Pairs whose hashes agree in 31 bits, with this seed.
    private static let seed = "hash_seed=00000000-1111-2222-3333-444444444444"
    private static let pairs = [("f357294", "f60792"), ("f75715", "f246440"), ("f3088", "f109195"), ("f318229", "f370128")]

    /// An open directory, its names in order, and the position before each.
    private final class Listing {
        let directory: OwnedDescriptor
        var names: [String] = []
        var before: [Int64] = [0]

        /// - Parameter size: bytes of names that are read at a time.
        init(_ path: String, size: Int = 4096) throws {
            directory = try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory)
            while true {
                let found = try next(size)
                if found.isEmpty { break }
                names += found.map(\.name)
                before += found.map(\.next)
            }
        }

        func next(_ size: Int = 4096) throws -> [(name: String, next: Int64)] {
            try withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
                let count = try Syscall.getdents(directory.rawValue, into: buffer)
                return DirectoryEntries(UnsafeRawBufferPointer(rebasing: buffer[..<count])).map {
                    (String(decoding: $0.bytes, as: UTF8.self), $0.nextOffset)
                }
            }
        }

        func names(from index: Int, _ size: Int = 4096) throws -> [String] {
            try Syscall.lseek(directory.rawValue, offset: before[index], whence: Seek.set)
            return try next(size).map(\.name)
        }

        /// Every position is small, belongs to one name, and leads there.
        func check(every step: Int = 1, size: Int = 400) throws {
            #expect(before.allSatisfy { $0 <= 0x7FFF_FFFF } && Set(before).count == before.count)
            for index in stride(from: names.count - 1, through: 0, by: -step) {
                let found = try names(from: index, size)
                let end = min(index + found.count, names.count)
                #expect(found.elementsEqual(names[index..<end]), "\(names[index]), \(before[index])")
            }
            #expect(try names(from: names.count).isEmpty)
        }
    }

    private func withExt4(_ options: String, features: [String] = [], _ body: (MountFixture) throws -> Void) throws {
        let images = try ScratchDirectory("cookies", in: "/var/tmp")
        let fixture = try MountFixture(options: nil)
        let disk = try LoopFileSystem(
            image: images.path + "/image", at: fixture.backing,
            maker: ["mkfs.ext4", "-q", "-F", "-N", "65536", "-E", Self.seed] + features,
            megabytes: 128, finally: [["chmod", "777", fixture.backing]])
        try withExtendedLifetime(disk) {
            try fixture.mount(options)
            try body(fixture)
            try fixture.unmount()
        }
    }

    private func make(_ names: some Sequence<String>, in directory: String) {
        mkdir(directory, 0o777)
        for name in names { #expect(mknod(directory + "/" + name, S_IFREG | 0o644, 0) == 0) }
    }

    @Test(arguments: ["cache=auto", "cache=strict", "transport=dev,cache=exclusive"])
    func onExt4(_ options: String) throws {
        try withExt4(options) { fixture in
            let pairs = Self.pairs.flatMap { [$0.0, $0.1] }
            make(pairs, in: fixture.backing + "/pairs")
            make(pairs + (0..<20_000).map { "n\($0)" }, in: fixture.backing + "/large")
            for name in ["pairs", "large"] {
                for size in [64, 32768] {
                    let listing = try Listing(fixture.path(name), size: size)
                    #expect(Set(listing.names).count == (name == "large" ? 20_010 : 10))
                    try listing.check(every: name == "large" ? 97 : 1, size: size)
                }
            }
            // The pairs do collide: natively the positions before them agree in the upper half. That of the first name is 0.
            let native = try Listing(fixture.backing + "/pairs")
            let halves = Set(native.before.map { $0 >> 32 })
            #expect(halves.count == native.before.count - Self.pairs.count + 1)
            #expect(Self.pairs[0].0 == native.names[0])
            try changesWhileReading(fixture, pairs)
        }
    }

    /// What was removed and added meanwhile moves no other name; a handle that listed nothing continues where another was.
    private func changesWhileReading(_ fixture: MountFixture, _ colliding: [String]) throws {
        let path = fixture.path("large")
        let listing = try Listing(path)
        var gone: Set<String> = []
        for (index, name) in listing.names.enumerated() where index % 5 == 0 && !name.hasPrefix(".") {
            #expect(unlink(path + "/" + name) == 0)
            gone.insert(name)
        }
        for number in 0..<300 { #expect(mknod(path + "/new\(number)", S_IFREG | 0o644, 0) == 0) }
        let other = try Listing(path)
        #expect(Set(other.names) == Set(listing.names).subtracting(gone).union((0..<300).map { "new\($0)" }))
        let places =
            Array(stride(from: 0, to: listing.names.count, by: 211))
            + listing.names.indices.filter { colliding.contains(listing.names[$0]) }
        for index in places {
            let found = try listing.names(from: index).filter { !$0.hasPrefix("new") }
            let expected = listing.names[index...].lazy.filter { !gone.contains($0) }.prefix(found.count)
            #expect(!found.isEmpty && found.elementsEqual(expected))
            try Syscall.lseek(other.directory.rawValue, offset: listing.before[index], whence: Seek.set)
            #expect(try other.next().map(\.name).first { !$0.hasPrefix("new") } == found.first)
        }
        try other.check(every: 97)
    }

    @Test func onExt4WithoutHashes() throws {
        try withExt4("", features: ["-O", "^dir_index"]) { fixture in
            make((0..<2_000).map { "n\($0)" }, in: fixture.backing + "/large")
            let listing = try Listing(fixture.path("large"))
            #expect(listing.names.count == 2_002)
            try listing.check()
        }
    }

    /// A file system that passes the positions of another on, as servers do.
    @Test func onAnOverlay() throws {
        try withExt4("nocrossmounts") { fixture in
            let (lower, merged) = (fixture.backing + "/lower", fixture.top + "/merged")
            for path in [lower, fixture.backing + "/upper", fixture.backing + "/work", merged, fixture.top + "/mnt2"] { mkdir(path, 0o755) }
            make((0..<5_000).map { "n\($0)" } + Self.pairs.map(\.0) + Self.pairs.map(\.1), in: fixture.backing + "/upper/large")
            let layers = "lowerdir=\(lower),upperdir=\(fixture.backing)/upper,workdir=\(fixture.backing)/work"
            #expect(try Spawn.run(["mount", "-t", "overlay", "overlay", "-o", layers, merged]).status == 0)
            defer { umount2(merged, Int32(MNT_DETACH)) }
            let place = fixture.top + "/mnt2"
            try fixture.mount(of: merged, at: place)
            #expect(try Listing(merged + "/large").before.contains { $0 > 0x7FFF_FFFF })
            let listing = try Listing(place + "/large")
            #expect(listing.names.count == 5_010)
            try listing.check(every: 41)
            let index = listing.names.count / 2
            for name in listing.names[(index - 3)..<index] { #expect(unlink(place + "/large/" + name) == 0) }
            #expect(try listing.names(from: index).first == listing.names[index])
            #expect(try listing.names(from: index - 3).first == listing.names[index])
            try fixture.unmount(at: place)
        }
    }

    @Test(.enabled(if: MountTesting.isLong, "a long test"))
    func aMillionNames() throws {
        let images = try ScratchDirectory("cookies", in: "/var/tmp")
        let fixture = try MountFixture(options: nil)
        let disk = try LoopFileSystem(
            image: images.path + "/image", at: fixture.backing, maker: ["mkfs.ext4", "-q", "-F", "-N", "1100000", "-E", Self.seed],
            megabytes: 1024,
            finally: [])
        try withExtendedLifetime(disk) {
            try fixture.mount()
            make((0..<1_000_000).lazy.map { "f\($0)" }, in: fixture.backing + "/d")
            let listing = try Listing(fixture.path("d"), size: 32768)
            #expect(listing.names.count == 1_000_002)
            try listing.check(every: 997)
            try fixture.unmount()
        }
    }
}
