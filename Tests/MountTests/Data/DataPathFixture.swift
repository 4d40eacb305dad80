import Foundation
import Glibc
import TestSupport

/// Both ways that data can go: what holds on one must hold on the other.
let dataWays = ["passthrough=auto", "passthrough=off"]

extension MountFixture {
    /// A number in the `data` line of `aclfs status`.
    func dataNumber(_ word: String, at path: String? = nil) throws -> Int {
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", path ?? mountpoint]).output
        guard let range = said.range(of: word + " ") else { throw FixtureError("no \(word) in \(said)") }
        return Int(said[range.upperBound...].prefix { $0.isNumber }) ?? -1
    }

    /// Backing ids of files that are open, once all RELEASEs have come or some time has passed.
    func idsLeft(at path: String? = nil) throws -> Int {
        var left = 0
        for _ in 0..<200 {
            left =
                try dataNumber("backing_ids_opened", at: path) - dataNumber("backing_ids_closed", at: path)
                - dataNumber("backing_ids_idle", at: path)
            if left == 0 { break }
            usleep(5000)
        }
        return left
    }

    /// The directory of this mount's daemon in /proc.
    private func daemon() throws -> String {
        guard let daemon = Self.daemons(of: mountpoint).first else { throw FixtureError("no daemon of \(mountpoint)") }
        return "/proc/\(daemon)"
    }

    /// Bytes that the daemon of this mount has written so far, by any call.
    func bytesWrittenByDaemon() throws -> Int {
        let counts = try String(contentsOfFile: daemon() + "/io", encoding: .ascii)
        guard let range = counts.range(of: "wchar: ") else { throw FixtureError("no count in \(counts)") }
        return Int(counts[range.upperBound...].prefix { $0.isNumber }) ?? -1
    }

    /// Whether the daemon keeps no descriptor of a removed file, now or some time later.
    func keepsNoRemovedFile() throws -> Bool {
        let directory = try daemon() + "/fd"
        for _ in 0..<100 {
            let open = try FileManager.default.contentsOfDirectory(atPath: directory).compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: directory + "/" + $0)
            }
            if !open.contains(where: { $0.hasPrefix(backing) && $0.hasSuffix("(deleted)") }) { return true }
            usleep(20000)
        }
        return false
    }

    func backingBytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: backing + "/" + name)))
    }
}

/// One of the ways to hold a file open.
struct Opener: CustomStringConvertible {
    var description: String
    var user: TestUser
    var flags: Int32
    var isReader: Bool { flags & O_ACCMODE != O_WRONLY }
    var isWriter: Bool { flags & O_ACCMODE != O_RDONLY }
    /// Writes where it is told, and not only at the end.
    var isPlain: Bool { isWriter && flags & (O_APPEND | Self.direct) == 0 }
    static let direct: Int32 = 0o40000

    static let all = [
        Opener(description: "reader", user: .bob, flags: O_RDONLY),
        Opener(description: "writer", user: .bob, flags: O_WRONLY),
        Opener(description: "reader and writer", user: .bob, flags: O_RDWR),
        Opener(description: "appender", user: .bob, flags: O_WRONLY | O_APPEND),
        Opener(description: "reader past the page cache", user: .bob, flags: O_RDONLY | direct),
        Opener(description: "root", user: .root, flags: O_RDWR),
        Opener(description: "who may only append", user: .carol, flags: O_WRONLY | O_APPEND),
        Opener(description: "who may only read and append", user: .carol, flags: O_RDWR | O_APPEND),
    ]
}
