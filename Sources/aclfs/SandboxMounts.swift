import Glibc
import LinuxSystem

/// The mounts of this namespace by their numbers, as far as a walk has to know whom it would ask.
struct SandboxMounts {
    private(set) var table: [MountInfo] = []
    private var byNumber: [UInt64: MountInfo] = [:]
    private let uid = geteuid()

    mutating func read() throws(Errno) {
        table = try MountInfo.ofThisProcess()
        byNumber = Dictionary(table.map { ($0.id, $0) }) { $1 }
    }

    /// Whether somebody else serves it, neither root nor this user: a walk through it may wait for him for ever.
    mutating func isStrangers(_ number: UInt64) throws(Errno) -> Bool {
        if byNumber[number] == nil { try read() }
        // What is met and stands in no table is taken away just now.
        guard let mount = byNumber[number] else { throw .stale }
        return mount.isStrangers(to: uid)
    }
}
