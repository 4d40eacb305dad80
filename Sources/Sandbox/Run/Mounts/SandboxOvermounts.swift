import LinuxSystem

/// The mounts that this process has made over exposed paths.
struct SandboxOvermounts {
    /// The view, detached at first.
    private let view: Int32
    private var isViewAttached = false
    private(set) var numbers: Set<UInt64> = []
    /// The overmount of each hidden path. A rename moves both together.
    private var attached: [SandboxPathInMount: UInt64] = [:]
    /// Overmounts of directories that were not searched: all that lies below is hidden.
    private(set) var opaque: Set<UInt64> = []

    init(view: Int32) { self.view = view }

    /// Whether a path has an overmount that the mount table still shows.
    func hides(_ path: SandboxPathInMount, _ table: [MountInfo]) -> Bool {
        guard let overmount = attached[path] else { return false }
        return table.contains { $0.id == overmount && $0.parent == path.mount }
    }

    /// - Parameter object: what the path leads to.
    mutating func attach(
        _ object: SharedDescriptor, at path: SandboxPathInMount, _ overmount: SandboxExposedPath.Overmount
    ) throws(Errno) {
        switch overmount {
        case .empty: attached[path] = try attachEmpty(onto: object)
        case .view(let names): attached[path] = try attachView(names, onto: object)
        }
    }

    /// Hides an object and all that lies below it.
    mutating func attachOpaque(_ object: SharedDescriptor) throws(Errno) {
        if let number = try attachEmpty(onto: object) { opaque.insert(number) }
    }

    private mutating func attachView(_ names: [[UInt8]], onto object: SharedDescriptor) throws(Errno) -> UInt64? {
        if !isViewAttached {
            guard names.isEmpty else { return try attachEmpty(onto: object) }
            try Syscall.attach(mount: view, onto: object.rawValue)
            isViewAttached = true
            return remember(view)
        }
        // A part of the share that the profile closes looks empty.
        guard let part = SandboxWalk.below(view, names), let copy = try? Syscall.cloneMount(part.rawValue) else {
            return try attachEmpty(onto: object)
        }
        try Syscall.attach(mount: copy.rawValue, onto: object.rawValue)
        return remember(copy.rawValue)
    }

    private mutating func attachEmpty(onto object: SharedDescriptor) throws(Errno) -> UInt64? {
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
