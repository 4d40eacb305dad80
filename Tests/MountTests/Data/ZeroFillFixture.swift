import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// A file system to stand behind the mount.
enum BackingKind: String, CaseIterable, CustomTestStringConvertible {
    case ext4, tmpfs, xfs, btrfs
    /// Without extents ext4 cannot reserve.
    case ext4WithoutExtents

    var testDescription: String { rawValue }

    /// How it is made in a file; nil if it needs none.
    var maker: [String]? {
        switch self {
        case .ext4: ["mkfs.ext4", "-q", "-F", "-b", "4096"]
        case .ext4WithoutExtents: ["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^extent,^64bit"]
        case .xfs: ["mkfs.xfs", "-q"]
        case .btrfs: ["mkfs.btrfs", "-q"]
        case .tmpfs: nil
        }
    }

    private static let available: [BackingKind] = allCases.filter { kind in
        guard MountTesting.isPossible else { return false }
        guard let maker = kind.maker else { return true }
        let isThere = LoopTesting.isPossible && (try? Spawn.run(["sh", "-c", "command -v \(maker[0])"]))?.status == 0
        if !isThere { print("zero-fill was not tried on \(kind.rawValue): no \(maker[0]) or no loop devices") }
        return isThere
    }

    /// Those that can reserve.
    static var reserving: [BackingKind] { available.filter { $0 != .ext4WithoutExtents } }
}

/// A backing file system of its own and a mount of it; both end with the fixture.
final class ZeroFillFixture {
    let mount: MountFixture
    private let image: String?

    init(_ kind: BackingKind, _ options: String, megabytes: Int? = nil) throws {
        mount = try MountFixture(options: nil)
        let megabytes = megabytes ?? (kind == .xfs ? 320 : kind == .btrfs ? 128 : 64)
        var commands: [[String]]
        if let maker = kind.maker {
            var template = Array("/var/tmp/aclfs-zerofill.XXXXXX".utf8CString)
            close(mkstemp(&template))
            let image = template.withUnsafeBufferPointer { String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
            self.image = image
            commands = [
                ["truncate", "-s", "\(megabytes)M", image], maker + [image], ["mount", "-o", "loop", image, mount.backing],
            ]
        } else {
            image = nil
            commands = [["mount", "-t", "tmpfs", "-o", "size=\(megabytes)M", "tmpfs", mount.backing]]
        }
        commands.append(["chmod", "1777", mount.backing])
        for command in commands {
            let result = try Spawn.run(command)
            guard result.status == 0 else { throw FixtureError("\(command): \(result)") }
        }
        try mount.mount(options)
    }

    deinit {
        for path in mount.mountpoints { _ = try? mount.unmount(at: path) }
        _ = try? Spawn.run(["umount", "-l", mount.backing])
        if let image { unlink(image) }
    }

    func path(_ name: String) -> String { mount.path(name) }
    func backingPath(_ name: String) -> String { mount.backing + "/" + name }

    /// Holes of the backing file, as it says itself.
    func holes(_ name: String, from start: Int = 0) throws -> [Range<Int>] {
        let descriptor = open(backingPath(name), O_RDONLY)
        guard descriptor >= 0 else { throw FixtureError("open \(name): errno \(errno)") }
        defer { close(descriptor) }
        let size = lseek(descriptor, 0, SEEK_END)
        var (position, holes) = (start, [Range<Int>]())
        while position < size {
            let hole = lseek(descriptor, position, Seek.hole)
            if hole < 0 || hole >= size { break }
            let data = lseek(descriptor, hole, Seek.data)
            position = data < 0 ? size : data
            holes.append(hole..<position)
        }
        return holes
    }

    func status(_ name: String, onMount: Bool = false) throws -> stat {
        var status = stat()
        guard lstat(onMount ? path(name) : backingPath(name), &status) == 0 else { throw FixtureError("stat \(name): errno \(errno)") }
        return status
    }

    /// Bytes that the backing file occupies.
    func occupied(_ name: String) throws -> Int { Int(try status(name).st_blocks) * 512 }

    /// Zeros are written soon after close(2), when the kernel has given the last handle up.
    func untilFilled(_ name: String, from start: Int = 0) throws -> [Range<Int>] {
        var left: [Range<Int>] = []
        try eventually {
            left = try holes(name, from: start)
            return left.isEmpty
        }
        return left
    }

    /// A number in the `zerofill` line of `aclfs status`.
    func statusNumber(_ word: String) throws -> Int {
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", mount.mountpoint]).output
        guard let range = said.range(of: word + " ") else { return -1 }
        return Int(said[range.upperBound...].prefix { $0.isNumber }) ?? -1
    }

    @discardableResult
    func gaps(_ words: String...) throws -> CommandResult { try Spawn.run([MountTesting.program("aclfs-gaps")] + words) }
}
