import LinuxSystem

/// The inode numbers of one file system in replies (docs/decisions/0034-inode-numbers-below-mounts.md).
public struct ShownNumbers: Sendable {
    fileprivate let owner: ShownInodes
    fileprivate let device: UInt64
    /// Added to small numbers, so that they stay below 2^32; nil: they do not.
    fileprivate let low: UInt64?
    /// Added to the others; nil: all areas have been taken.
    fileprivate let high: UInt64?
    /// The root's file system keeps its numbers, but for those that others may get.
    fileprivate let isRoot: Bool

    /// - Parameter inode: on the file system itself.
    public func shown(_ inode: UInt64) -> UInt64 {
        if isRoot, inode < ShownInodes.leastOfOthers || !owner.mayBeOfOthers(inode) { return inode }
        if let low, inode < ShownInodes.smallest { return low | inode }
        guard inode >= ShownInodes.area else { return high.map { $0 | inode } ?? ShownInodes.last(device, inode) }
        return owner.farArea(device, inode).map { $0 | inode & (ShownInodes.area - 1) } ?? ShownInodes.last(device, inode)
    }
}

/// Gives each file system of a tree numbers that no other has (docs/decisions/0034-inode-numbers-below-mounts.md).
///
/// The root's file system keeps its own. Each other one gets an area of 2^40 numbers between 2^52 and 2^53, and one of 2^22 between 2^31 and
/// 2^32 for its smallest numbers, where the root's own stay below. The file system's id chooses them, so that they are the same after a new mount.
final class ShownInodes: Sendable {
    /// The size of an area above 2^52.
    static let area: UInt64 = 1 << 40
    /// The size of an area above 2^31.
    static let smallest: UInt64 = 1 << 22
    /// The first number of the small areas.
    static let leastOfOthers: UInt64 = 1 << 31
    private static let areas: UInt64 = 1 << 12
    private static let smallAreas: UInt64 = 1 << 9
    /// So many further areas are for numbers of one file system from 2^40 on, which CephFS has, for instance.
    private static let mostFarAreas = 8

    private struct Numbered {
        var fsid: UInt64
        var area: UInt64?
        var smallArea: UInt64?
        /// By the upper bits of the numbers.
        var far: [UInt64: UInt64] = [:]
    }
    private struct State {
        var devices: [UInt64: Numbered] = [:]
        /// Of the root's numbers that others may get.
        var areas: Set<UInt64> = [0]
        var smallAreas: Set<UInt64> = []
    }
    private let root: UInt64
    private let hasSmallAreas: Bool
    private let state = Lock(State())

    /// - Parameters:
    ///   - root: the device of the root.
    ///   - status: of its file system.
    init(root: UInt64, _ status: FileSystemStatus) {
        self.root = root
        hasSmallAreas = Self.hasSmallNumbers(status)
        state.withLock { $0.devices[root] = Numbered(fsid: status.fsid, area: 0, smallArea: nil) }
    }

    /// Whether a file system has no numbers from 2^31 on, or hardly any.
    private static func hasSmallNumbers(_ status: FileSystemStatus) -> Bool {
        switch status.type {
        case FileSystemType.ext4: status.files < 1 << 31
        // Counted up from 1.
        case FileSystemType.btrfs, FileSystemType.tmpfs: true
        // Places on the disk: two numbers for each 512 bytes at most.
        case FileSystemType.xfs: status.blocks.multipliedReportingOverflow(by: status.frsize).partialValue <= 1 << 38
        default: false
        }
    }

    /// Of the root: whether a number lies where others get theirs.
    fileprivate func mayBeOfOthers(_ inode: UInt64) -> Bool { inode >> 52 == 1 || hasSmallAreas && inode >> 31 == 1 }

    /// Notes a file system before its first object is shown.
    /// - Parameters:
    ///   - device: its number.
    ///   - descriptor: an object on it.
    ///   - isTop: the object is one by which callers enter it. Then the number may be known as that of another, which has gone.
    func note(_ device: UInt64, _ descriptor: SharedDescriptor, isTop: Bool) {
        if device == root || !isTop && state.withLock({ $0.devices[device] != nil }) { return }
        guard let fsid = try? Syscall.fstatvfs(descriptor.rawValue).fsid else { return }
        state.withLock { state in
            if let known = state.devices[device] {
                if known.fsid == fsid { return }
                for area in [known.area].compactMap({ $0 }) + known.far.values { state.areas.remove(area) }
                if let area = known.smallArea { state.smallAreas.remove(area) }
            }
            add(device, fsid, &state)
        }
    }

    /// The numbers of a device. One that was not noted gets some, too.
    func numbers(of device: UInt64) -> ShownNumbers {
        if device == root { return ShownNumbers(owner: self, device: device, low: nil, high: Self.base(0), isRoot: true) }
        let found = state.withLock { state in state.devices[device] ?? add(device, 0, &state) }
        return ShownNumbers(
            owner: self, device: device, low: found.smallArea.map { Self.leastOfOthers | $0 * Self.smallest },
            high: found.area.map(Self.base),
            isRoot: false)
    }

    private static func base(_ area: UInt64) -> UInt64 { 1 << 52 | area * Self.area }

    @discardableResult
    private func add(_ device: UInt64, _ fsid: UInt64, _ state: inout State) -> Numbered {
        // Btrfs has the number of the subvolume in the low bits, so that neighbours get different areas.
        let choice = fsid == 0 ? device : fsid ^ fsid >> 32
        let numbered = Numbered(
            fsid: fsid, area: Self.free(choice, of: Self.areas, &state.areas),
            smallArea: hasSmallAreas ? Self.free(choice, of: Self.smallAreas, &state.smallAreas) : nil)
        state.devices[device] = numbered
        return numbered
    }

    /// The area for the upper bits of a number from 2^40 on; nil: there is none for it.
    fileprivate func farArea(_ device: UInt64, _ inode: UInt64) -> UInt64? {
        let upper = inode / Self.area
        return state.withLock { state in
            guard let known = state.devices[device] else { return nil }
            if let area = known.far[upper] { return Self.base(area) }
            // Half of all is for smaller numbers.
            guard known.far.count < Self.mostFarAreas, state.areas.count < Int(Self.areas / 2),
                let area = Self.free(known.fsid ^ known.fsid >> 32 ^ upper &* 0x9E37_79B9, of: Self.areas, &state.areas)
            else { return nil }
            state.devices[device]?.far[upper] = area
            return Self.base(area)
        }
    }

    private static func free(_ choice: UInt64, of count: UInt64, _ taken: inout Set<UInt64>) -> UInt64? {
        guard taken.count < Int(count) else { return nil }
        var area = choice % count
        while taken.contains(area) { area = (area + 1) % count }
        taken.insert(area)
        return area
    }

    /// A number from 2^63 on, where file systems have at most such that programs have trouble with anyway. Two of them are equal with a
    /// probability of 2^-63.
    fileprivate static func last(_ device: UInt64, _ inode: UInt64) -> UInt64 { inode ^ (device &* 0x9E37_79B9_7F4A_7C15) | 1 << 63 }
}
