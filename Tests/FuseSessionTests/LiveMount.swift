import FuseMounts
import Glibc
import LinuxSystem

@testable import FuseSession

/// The ways that requests can come here.
let transports: [Transport] = {
    guard let obstacle = RingObstacle.present() else { return [.device, .uring] }
    print("io_uring as transport is not tested: \(obstacle)")
    return [.device]
}()

/// A mount of a handler that is served until `end`; never left behind.
final class LiveMount: Sendable {
    let path: String
    let session: Session
    private let thread: pthread_t

    private final class Outcome: Sendable {
        let error = Lock<SessionError?>(nil)
        let session: Session
        init(_ session: Session) { self.session = session }
    }
    private let outcome: Outcome

    init(
        _ handler: RequestHandler, configuration: SessionConfiguration = SessionConfiguration(),
        throughFusermount: Bool = false
    ) throws {
        var template = Array("/tmp/aclfs-session-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SessionError(.mount, errno: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        do {
            let device =
                throughFusermount
                ? try FuseMount.mountThroughFusermount(source: "he,llo", at: path, flags: .noExecution)
                : try FuseMount.mountAsRoot(source: "hello", at: path)
            session = try Session(handler: handler, deviceDescriptor: device, configuration: configuration)
        } catch {
            _ = try? FuseMount.unmount(path, lazily: true)
            rmdir(path)
            throw error
        }
        outcome = Outcome(session)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let outcome = Unmanaged<Outcome>.fromOpaque(argument).takeRetainedValue()
                do throws(SessionError) {
                    try outcome.session.run(workers: 3)
                } catch {
                    outcome.error.withLock { $0 = error }
                }
                return nil
            }, Unmanaged.passRetained(outcome).toOpaque())
        self.thread = thread
    }

    /// What this process has open on it another test's child may hold, until it becomes another program.
    func unmount() throws(SessionError) {
        for _ in 0..<500 {
            do throws(SessionError) { return try FuseMount.unmount(path) } catch {
                guard error.errno == EBUSY else { throw error }
                usleep(10_000)
            }
        }
        try FuseMount.unmount(path)
    }

    /// Waits for the session's end; call once, after `unmount` or `stop`.
    func join() -> SessionError? {
        pthread_join(thread, nil)
        return outcome.error.withLock { $0 }
    }

    deinit {
        _ = try? FuseMount.unmount(path, lazily: true)
        rmdir(path)
    }
}

let mountable: Bool = {
    guard geteuid() == 0 else {
        print("skipped: mounting needs root")
        return false
    }
    guard Glibc.access("/dev/fuse", R_OK | W_OK) == 0 else {
        print("skipped: no /dev/fuse")
        return false
    }
    return true
}()
