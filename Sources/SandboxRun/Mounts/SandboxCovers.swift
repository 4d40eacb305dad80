import LinuxSystem

/// What we have mounted over what must not be seen.
struct SandboxCovers {
    /// Attached nowhere at first.
    private let view: Int32
    private var isViewAttached = false
    private(set) var numbers: Set<UInt64> = []
    /// Where a cover stands, and which: it goes where the place goes.
    private var standing: [SandboxSpot: UInt64] = [:]
    /// Covers of what nobody looks into: not seen is all that lies below.
    private(set) var lids: Set<UInt64> = []

    init(view: Int32) { self.view = view }

    /// Whether a place has one, by the mount table.
    func stand(on spot: SandboxSpot, _ table: [MountInfo]) -> Bool {
        guard let cover = standing[spot] else { return false }
        return table.contains { $0.id == cover && $0.parent == spot.mount }
    }

    mutating func cover(_ object: SharedDescriptor, at spot: SandboxSpot, with cover: SandboxSight.Cover) throws(Errno) {
        switch cover {
        case .nothing: standing[spot] = try attachNothing(onto: object)
        case .view(let names): standing[spot] = try attachView(names, onto: object)
        }
    }

    mutating func close(_ object: SharedDescriptor) throws(Errno) {
        if let lid = try attachNothing(onto: object) { lids.insert(lid) }
    }

    private mutating func attachView(_ names: [[UInt8]], onto object: SharedDescriptor) throws(Errno) -> UInt64? {
        if !isViewAttached {
            guard names.isEmpty else { return try attachNothing(onto: object) }
            try Syscall.attach(mount: view, onto: object.rawValue)
            isViewAttached = true
            return remember(view)
        }
        // A part of the share that the profile closes is seen as nothing.
        guard let part = SandboxWalk.below(view, names), let copy = try? Syscall.cloneMount(part.rawValue) else {
            return try attachNothing(onto: object)
        }
        try Syscall.attach(mount: copy.rawValue, onto: object.rawValue)
        return remember(copy.rawValue)
    }

    private mutating func attachNothing(onto object: SharedDescriptor) throws(Errno) -> UInt64? {
        let isDirectory = try SandboxWalk.isDirectory(object.rawValue)
        let empty: OwnedDescriptor
        if isDirectory {
            empty = try Syscall.smallMount(isWritable: false)
        } else {
            let null = try Syscall.open("/dev/null", OpenFlag.path)
            empty = try Syscall.cloneMount(null.rawValue)
        }
        try Syscall.attach(mount: empty.rawValue, onto: object.rawValue)
        return remember(empty.rawValue)
    }

    private mutating func remember(_ mount: Int32) -> UInt64? {
        guard let id = try? Syscall.statx(mount, flags: AtFlag.dontSync).mountID else { return nil }
        numbers.insert(id)
        return id
    }
}
