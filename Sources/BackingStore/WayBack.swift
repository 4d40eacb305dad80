import LinuxSystem

/// How an object is opened again when its descriptor is no longer cached.
enum WayBack: Sendable {
    /// By its handle, which needs CAP_DAC_READ_SEARCH.
    case handle
    /// By the name that the kernel knows it by, and compared with its handle: an ordinary user's daemon has no better.
    case name(KnownName)
    /// Not at all: a descriptor is held for the object's life where the file system has no handles.
    case pinned(SharedDescriptor)
}

/// The name by which an object was shown last.
final class KnownName: Sendable {
    enum State: Sendable {
        /// It was never shown.
        case unknown
        /// `bytes` ends in NUL.
        case below(BackingObject, bytes: [CChar])
        /// It has lost its name, or never had one, and the kernel still knows it.
        case held(SharedDescriptor)
    }
    let state = Lock(State.unknown)
}

extension BackingObject {
    /// The kernel knows the object by this name now. Nothing is kept where a handle leads back.
    public func isNamed(_ name: UnsafePointer<CChar>, in directory: BackingObject) {
        guard case .name(let known) = wayBack else { return }
        var count = 0
        while name[count] != 0 { count += 1 }
        let bytes = Array(UnsafeBufferPointer(start: name, count: count + 1))
        known.state.withLock { $0 = .below(directory, bytes: bytes) }
    }

    /// The object has no name that could lead back: its descriptor is held until the kernel has forgotten it.
    public func hasNoName(_ descriptor: SharedDescriptor) {
        guard case .name(let known) = wayBack else { return }
        known.state.withLock { $0 = .held(descriptor) }
    }
}

extension BackingTree {
    /// Walks down from the nearest directory above whose descriptor is at hand.
    /// - Throws: `noent` if a name means another object now, or none.
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
                // What was moved behind our back may lead in a circle.
                if below.count > Self.deepestPath { throw .noent }
                current = directory
                descriptor = atHand(directory)
                if case .name(let known) = directory.wayBack { next = known } else { next = nil }
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

    /// A path of the kernel has no more names than this.
    private static let deepestPath = 2048
}
