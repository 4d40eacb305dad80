import CLinux
import Glibc

/// A POSIX thread. It is detached when this value ends, unless it was joined.
public struct Thread: ~Copyable, Sendable {
    private let id: pthread_t

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }

    private init(_ id: pthread_t) { self.id = id }

    /// Starts a thread.
    /// - Parameters:
    ///   - name: cut at 15 bytes.
    ///   - stackSize: in bytes; nil = the system's default.
    ///   - body: runs on the thread.
    /// - Throws: again if there are too many threads, inval for a stack that is too small.
    public static func start(
        name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(Errno) -> Thread {
        var attributes = pthread_attr_t()
        try check(pthread_attr_init(&attributes))
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { try check(pthread_attr_setstacksize(&attributes, stackSize)) }
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var id = pthread_t()
        let code = pthread_create(
            &id, &attributes,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                aclfs_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        if code != 0 {
            start.release()
            throw Errno(rawValue: code)
        }
        return Thread(id)
    }

    /// Waits until the thread has ended.
    public consuming func join() {
        let id = self.id
        discard self
        pthread_join(id, nil)
    }

    deinit { pthread_detach(id) }

    private static func check(_ code: Int32) throws(Errno) {
        if code != 0 { throw Errno(rawValue: code) }
    }
}
