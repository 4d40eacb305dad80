import LinuxSystem
import MountOptions
import ToolSupport

/// The mount flags that the kernel keeps, as words of `-o` and as bits of mount(2).
package struct KernelMountFlags: Equatable {
    private(set) var bits: UInt64 = 0

    private static let rows: [(flag: KernelFlag, row: OptionRow)] = OptionTable.rows.compactMap { row in
        row.kernelFlag.map { ($0, row) }
    }

    /// The flags in force.
    package init(_ entry: MountEntry) {
        // The table has no word for it: it holds if no other does.
        bits = MountFlag.strictAccessTime
        for word in entry.options + entry.superOptions { apply(word) }
        // Either `ro`, of the mount or of the file system, makes it read-only.
        if entry.options.contains("ro") { bits |= MountFlag.readOnly }
    }

    /// As they are asked for.
    init(_ options: MountOptions) {
        for (flag, row) in Self.rows where row.inForce(options) == flag.set { bits |= flag.bit }
    }

    mutating func apply(_ word: String) {
        for (flag, _) in Self.rows {
            if flag.set == word {
                // Of the words for access times the last one holds.
                if flag.bit & Self.accessTimes != 0 { bits &= ~Self.accessTimes }
                bits |= flag.bit
            }
            if flag.cleared == word { bits &= ~flag.bit }
        }
    }

    var isReadOnly: Bool { bits & MountFlag.readOnly != 0 }
    var forbidsExecution: Bool { bits & MountFlag.noExec != 0 }

    /// The word that no remount to these flags may say; nil if there is none.
    func refusedWord(before: KernelMountFlags) -> String? {
        Self.rows.first { flag, row in
            row.remount == .kernelSetsOnly && before.bits & ~bits & flag.bit != 0
        }?.flag.cleared
    }

    /// For mount(2) at a remount. Without a flag for access times it would keep the old one.
    var forRemount: UInt64 {
        MountFlag.remount | bits | (bits & Self.accessTimes == 0 ? MountFlag.relativeAccessTime : 0)
    }

    /// The flags in force, also those that are not set, for a mount that is to have the same. Of the words for access times the last one holds.
    package var words: [String] {
        func said(_ isOfAccessTimes: Bool) -> [String] {
            Self.rows.compactMap { flag, _ in
                guard (flag.bit & Self.accessTimes != 0) == isOfAccessTimes else { return nil }
                return bits & flag.bit != 0 ? flag.set : isOfAccessTimes ? nil : flag.cleared
            }
        }
        return said(false) + ["atime"] + said(true)
    }

    private static let accessTimes = MountFlag.noAccessTime | MountFlag.strictAccessTime | MountFlag.relativeAccessTime

    /// For `aclfs status`.
    package var shown: [String] {
        Self.rows.compactMap { flag, row in
            switch row.shown {
            case .kernel: bits & flag.bit != 0 ? flag.set : flag.cleared
            case .kernelWhenSet: bits & flag.bit != 0 ? flag.set : nil
            case .never, .always, .unlessDefault: nil
            }
        }
    }
}
