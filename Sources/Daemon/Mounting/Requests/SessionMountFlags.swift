import FuseMounts
import LinuxSystem
import MountOptions
import ToolSupport

extension FuseMount.Flags {
    /// The flags in force on a mount of root.
    package init(_ entry: MountEntry) {
        self = Self.flags(KernelMountFlags(entry)).union(.allowOther)
    }

    /// As they are asked for.
    package init(_ options: MountOptions) {
        self = Self.flags(KernelMountFlags(options))
        if options.allowOther { insert(.allowOther) }
    }

    private static func flags(_ kernel: KernelMountFlags) -> FuseMount.Flags {
        table.reduce(into: []) { flags, entry in
            if kernel.bits & entry.bit != 0 { flags.insert(entry.flag) }
        }
    }

    /// Without any of the flags for access times the kernel does what `relatime` says.
    private static let table: [(bit: UInt64, flag: FuseMount.Flags)] = [
        (MountFlag.readOnly, .readOnly), (MountFlag.noSetID, .noSetID), (MountFlag.noDevices, .noDevices),
        (MountFlag.noExec, .noExecution), (MountFlag.synchronous, .synchronous),
        (MountFlag.synchronousDirectories, .synchronousDirectories), (MountFlag.noAccessTime, .noAccessTime),
        (MountFlag.noDirectoryAccessTime, .noDirectoryAccessTime), (MountFlag.strictAccessTime, .strictAccessTime),
        (MountFlag.noSymlinkFollow, .noSymlinkFollow),
    ]
}
