import LinuxSystem
import MountOptions
import ToolSupport

/// The flags of a mount that the kernel keeps, in the words of `-o` and as mount(2) takes them.
package struct KernelMountFlags: Equatable {
    private(set) var bits: UInt64 = 0

    private static let rows: [(flag: KernelFlag, row: OptionRow)] = OptionTable.rows.compactMap { row in
        row.kernelFlag.map { ($0, row) }
    }

    /// As they are in force.
    package init(_ entry: MountEntry) {
        // What stands in the table when none of the others does.
        bits = MountFlag.strictAccessTime
        for word in entry.options + entry.superOptions { apply(word) }
        // `rw` of the one does not undo `ro` of the other.
        if entry.options.contains("ro") { bits |= MountFlag.readOnly }
    }

    /// As they are asked for.
    init(_ options: MountOptions) {
        for (flag, row) in Self.rows where row.inForce(options) == flag.set { bits |= flag.bit }
    }

    mutating func apply(_ word: String) {
        for (flag, _) in Self.rows {
            if flag.set == word {
                // Of these the later one counts.
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

    /// What mount(2) is told at a remount: without one of these it keeps the access times as they are.
    var forRemount: UInt64 {
        MountFlag.remount | bits | (bits & Self.accessTimes == 0 ? MountFlag.relativeAccessTime : 0)
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
