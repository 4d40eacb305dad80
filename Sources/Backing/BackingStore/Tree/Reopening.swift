import LinuxSystem

/// How an object is opened when its descriptor is no longer cached.
enum Reopening: Sendable {
    /// By its handle, which needs CAP_DAC_READ_SEARCH.
    case handle
    /// By the name that the kernel knows, compared with its handle: the daemon of an ordinary user cannot open handles.
    case name(KnownName)
    /// A descriptor is open for the object's life, where the file system has no handles.
    case pinned(SharedDescriptor)
}

/// The last name of an object in a reply.
final class KnownName: Sendable {
    enum State: Sendable {
        /// No reply contained it.
        case unknown
        /// `bytes` ends in NUL.
        case below(BackingObject, bytes: [CChar])
        /// It has no name any more, or never had one, and the kernel still knows it.
        case held(SharedDescriptor)
    }
    let state = Lock(State.unknown)
}

extension BackingObject {
    /// Stores the name by which the kernel knows the object now, unless handles open it.
    public func rememberName(_ name: UnsafePointer<CChar>, in directory: BackingObject) {
        guard case .name(let known) = reopening else { return }
        var count = 0
        while name[count] != 0 { count += 1 }
        let bytes = Array(UnsafeBufferPointer(start: name, count: count + 1))
        known.state.withLock { $0 = .below(directory, bytes: bytes) }
    }

    /// Keeps the descriptor of an object without a name until the kernel has forgotten it.
    public func keepOpenWithoutName(_ descriptor: SharedDescriptor) {
        guard case .name(let known) = reopening else { return }
        known.state.withLock { $0 = .held(descriptor) }
    }
}

extension BackingTree {
    /// Opens names from the nearest ancestor with an open descriptor.
    /// - Throws: `noent` if a name refers to another object now, or to none.
    func openByName(_ object: BackingObject, _ known: KnownName) throws(Errno) -> SharedDescriptor {
        var below: [(object: BackingObject, name: [CChar])] = []
        var current = object
        var next: KnownName? = known
        var descriptor: SharedDescriptor?
        while descriptor == nil {
            guard let known = next else { throw .noent }
            switch known.state.withLock({ $0 }) {
            case .unknown: throw .noent
            case .held(let held): descriptor = held
            case .below(let directory, let bytes):
                below.append((current, bytes))
                // A move on the backing directory may have made a cycle.
                if below.count > Self.deepestPath { throw .noent }
                current = directory
                descriptor = openDescriptor(of: directory)
                if case .name(let known) = directory.reopening { next = known } else { next = nil }
            }
        }
        guard var descriptor else { throw .noent }
        for (object, name) in below.reversed() {
            descriptor = SharedDescriptor(
                try Syscall.openat(descriptor.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
            let status = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
            guard status.device == object.key.device, status.inode == object.key.inode else { throw .noent }
            if let handle = object.key.handle, try Self.handle(of: descriptor.rawValue) != handle { throw .noent }
            cache.insert(descriptor, for: object)
        }
        return descriptor
    }

    /// The kernel's limit of names in a path.
    private static let deepestPath = 2048
}

extension BackingTree {
    /// How many descriptors the objects of a tree may hold: of those that the daemon does not need for itself half, so that the others are left to
    /// handles.
    /// - Parameter limit: the descriptors that the process may hold open.
    public static func descriptorBudget(of limit: UInt64) -> Int { Int(clamping: min((max(limit, 20) - 16) / 2, 8192)) }
}
