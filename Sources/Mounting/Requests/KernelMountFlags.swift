import LinuxSystem
import ToolSupport

/// The flags of a mount that the kernel keeps, in the words of `-o` and as mount(2) takes them.
package struct KernelMountFlags: Equatable {
    private(set) var bits: UInt64 = 0

    private static let words: [(set: String, clear: String, bit: UInt64)] = [
        ("ro", "rw", MountFlag.readOnly), ("nosuid", "suid", MountFlag.noSetID), ("nodev", "dev", MountFlag.noDevices),
        ("noexec", "exec", MountFlag.noExec), ("sync", "async", MountFlag.synchronous),
        ("dirsync", "", MountFlag.synchronousDirectories), ("noatime", "atime", MountFlag.noAccessTime),
        ("nodiratime", "diratime", MountFlag.noDirectoryAccessTime), ("nosymfollow", "symfollow", 256),
        ("strictatime", "nostrictatime", MountFlag.strictAccessTime), ("relatime", "norelatime", MountFlag.relativeAccessTime),
    ]

    /// As they are in force.
    package init(_ entry: MountEntry) {
        // What stands in the table when none of the others does.
        apply("strictatime")
        for word in entry.options + entry.superOptions { apply(word) }
        // `rw` of the one does not undo `ro` of the other.
        if entry.options.contains("ro") { bits |= MountFlag.readOnly }
    }

    static func knows(_ word: String) -> Bool { words.contains { $0.set == word || $0.clear == word } }

    mutating func apply(_ word: String) {
        // Of these the later one counts.
        if let times = Self.words.first(where: { $0.set == word && $0.bit & Self.accessTimes != 0 }) {
            bits = bits & ~Self.accessTimes | times.bit
            return
        }
        for entry in Self.words {
            if entry.set == word { bits |= entry.bit }
            if entry.clear == word { bits &= ~entry.bit }
        }
    }

    var isReadOnly: Bool { bits & MountFlag.readOnly != 0 }
    var forbidsDevices: Bool { bits & MountFlag.noDevices != 0 }
    var forbidsExecution: Bool { bits & MountFlag.noExec != 0 }

    /// What mount(2) is told at a remount: without one of these it keeps the access times as they are.
    var forRemount: UInt64 {
        MountFlag.remount | bits | (bits & Self.accessTimes == 0 ? MountFlag.relativeAccessTime : 0)
    }

    private static let accessTimes = MountFlag.noAccessTime | MountFlag.strictAccessTime | MountFlag.relativeAccessTime

    /// For `aclfs status`; `ro` and `noexec` stand among the daemon's own, and `relatime` is what every kernel does.
    package var shown: [String] {
        Self.words.filter { $0.set != "ro" && $0.set != "noexec" && $0.set != "relatime" }.compactMap { entry in
            if bits & entry.bit != 0 { return entry.set }
            return entry.set == "nosuid" || entry.set == "nodev" ? entry.clear : nil
        }
    }
}
