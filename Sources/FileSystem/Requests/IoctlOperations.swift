import Authorization
import FuseSession
import LinuxSystem

/// The four commands of chattr(1) and lsattr(1). Every other ioctl fails with ENOTTY. None is passed to a backing descriptor, where it would
/// run as root (docs/reference/authorization.md 2.4).
private enum FlagCommand: UInt32 {
    case getFlags = 0x8008_6601
    case setFlags = 0x4008_6602
    case getExtended = 0x801C_581F
    case setExtended = 0x401C_5820
}

/// The request IOCTL: flags for chattr(1) and lsattr(1).
final class IoctlOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let held: HeldCalls
    let share: Share
    let metadata: MetadataChanges
    let durable: DurableCalls
    let files: OpenFiles

    init(
        loader: ObjectLoader, judge: Judge, held: HeldCalls, share: Share, metadata: MetadataChanges, durable: DurableCalls,
        files: OpenFiles
    ) {
        (self.loader, self.judge, self.held, self.share, self.metadata, self.durable, self.files) = (
            loader, judge, held, share, metadata, durable, files
        )
    }
}

extension IoctlOperations {
    func ioctl(_ id: HandleID, command: UInt32, input: UnsafeRawBufferPointer, outputSize: Int, _ caller: Caller) throws(Errno) -> [UInt8] {
        guard let command = FlagCommand(rawValue: command) else { throw .notty }
        let node = try files.node(id)
        switch command {
        case .getFlags:
            return littleEndian(Self.inodeFlags(try metadata.visibleFlags(of: node, caller)), padTo: min(outputSize, 8))
        case .getExtended:
            return littleEndian(Self.extendedFlags(try metadata.visibleFlags(of: node, caller)), padTo: min(outputSize, 28))
        case .setFlags:
            guard input.count >= 4 else { throw .inval }
            let bits = input.loadUnaligned(as: UInt32.self)
            try setFlags(
                node, caller, known: InodeFlag.immutable | InodeFlag.append | InodeFlag.noDump, bits, Self.inodeFlags)
            try durable.finishChange(of: node.id)
        case .setExtended:
            guard input.count >= 28 else { throw .inval }
            // Extent sizes and project ids have no BSD flag; a get returns zero for them.
            for position in stride(from: 4, to: 20, by: 4)
            where input.loadUnaligned(fromByteOffset: position, as: UInt32.self) != 0 { throw .opnotsupp }
            let bits = input.loadUnaligned(as: UInt32.self)
            try setFlags(
                node, caller, known: InodeXFlag.immutable | InodeXFlag.append | InodeXFlag.noDump, bits, Self.extendedFlags)
            try durable.finishChange(of: node.id)
        }
        return []
    }

    /// `i` and `a` mean the system flags, and a get returns them for the user flags too. Only a change of what a get returns is a request,
    /// so this never sets or clears user flags.
    private func setFlags(
        _ node: Node, _ caller: Caller, known: UInt32, _ bits: UInt32, _ encode: @escaping @Sendable (FileFlags) -> UInt32
    ) throws(Errno) {
        try held.run((node, caller, known, bits, encode), caller, on: .object(node.id)) { [self] (input) throws(Errno) in
            try performSetFlags(input.0, input.1, known: input.2, input.3, input.4)
        }
    }

    private func performSetFlags(
        _ node: Node, _ caller: Caller, known: UInt32, _ bits: UInt32, _ encode: (FileFlags) -> UInt32
    ) throws(Errno) {
        let setsNoDump = bits & encode(.noDump) != 0
        let isExcluded = try metadata.isExcludedByLocation(node, changing: { setsNoDump ? $0.union(.noDump) : $0 }, caller)
        try metadata.withMetadataLocked(node) { () throws(Errno) in
            let object = try loader.load(node)
            try held.requireNoOtherChange(of: object)
            var flags = try metadata.markedFlags(object)
            if isExcluded { flags.formUnion(.noDump) }
            let changed = bits ^ encode(flags)
            if changed & ~known != 0 { throw .opnotsupp }
            for (flag, user) in [
                (FileFlags.systemImmutable, FileFlags.userImmutable), (.systemAppend, .userAppend), (.noDump, []),
            ] {
                let bit = encode(flag)
                guard changed & bit != 0 else { continue }
                if bits & bit != 0 {
                    flags.formUnion(flag)
                } else {
                    // A get returns it because of the user flag alone, which this name does not clear.
                    if !flags.isDisjoint(with: user) { throw .perm }
                    flags.subtract(flag)
                }
            }
            try metadata.changeFlags(object, to: flags, isExcluded: isExcluded, caller)
        }
    }

    private static func inodeFlags(_ flags: FileFlags) -> UInt32 {
        bits(flags, immutable: InodeFlag.immutable, append: InodeFlag.append, noDump: InodeFlag.noDump)
    }

    private static func extendedFlags(_ flags: FileFlags) -> UInt32 {
        bits(flags, immutable: InodeXFlag.immutable, append: InodeXFlag.append, noDump: InodeXFlag.noDump)
    }

    private static func bits(_ flags: FileFlags, immutable: UInt32, append: UInt32, noDump: UInt32) -> UInt32 {
        (flags.isDisjoint(with: .immutable) ? 0 : immutable) | (flags.isDisjoint(with: .appendOnly) ? 0 : append)
            | (flags.contains(.noDump) ? noDump : 0)
    }

    private func littleEndian(_ value: UInt32, padTo size: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(size, 0))
        for index in 0..<min(4, bytes.count) { bytes[index] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(index))) }
        return bytes
    }
}
