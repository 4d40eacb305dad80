import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import FuseSession

/// A root directory with one file, "hello".
private final class HelloHandler: RequestHandler, @unchecked Sendable {
    static let text = Array("hello, world\n".utf8)
    static let file = NodeID(2)
    static let birth: Int64 = 1_000_000_007
    static let tmpfile = NodeID(3)

    let seen = Lock(Seen())
    let gate = Gate()

    /// Has another thread say that there is no such name.
    private static func answerElsewhere(_ reply: consuming EntryReply) {
        let held = Held(reply)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                usleep(2000)
                Unmanaged<Held>.fromOpaque(argument).takeRetainedValue().answer()
                return nil
            }, Unmanaged.passRetained(held).toOpaque())
        pthread_detach(thread)
    }

    private final class Held: @unchecked Sendable {
        private var reply: EntryReply?
        init(_ reply: consuming EntryReply) { self.reply = consume reply }
        func answer() { reply.take()?.absent(validFor: 0) }
    }

    /// Waits until the caller is interrupted, which a close does not undo.
    override func fsync(
        _ node: NodeID, handle: HandleID, dataOnly: Bool, caller: Caller, reply: consuming EmptyReply
    ) {
        let interruption = reply.interruption
        while !interruption.hasCome { usleep(1000) }
        seen.withLock { $0.interrupted += 1 }
        reply.fail(EINTR)
    }

    struct Seen {
        var initialized = 0
        var destroyed = 0
        var fileFlags: Int32 = 0
        var openKills = false
        var writeKills = false
        var interrupted = 0
        var lookups: UInt64 = 0
        var forgotten: UInt64 = 0
        /// Makes the next open a passthrough one.
        var backingID: Int32?
    }

    private func attributes(_ node: NodeID) -> ObjectAttributes {
        node == .root
            ? ObjectAttributes(ino: 1, mode: S_IFDIR | 0o755, nlink: 2)
            : ObjectAttributes(
                ino: node.rawValue, mode: S_IFREG | 0o644, size: UInt64(Self.text.count),
                modificationTime: Timestamp(seconds: 1_500_000_000, nanoseconds: 123_456_789),
                birthTime: Timestamp(seconds: Self.birth))
    }

    override func initialized(_ negotiated: Negotiated) { seen.withLock { $0.initialized += 1 } }
    override func destroyed() { seen.withLock { $0.destroyed += 1 } }

    override func lookup(
        _ name: UnsafePointer<CChar>, in parent: NodeID, caller: Caller, reply: consuming EntryReply
    ) {
        if strcmp(name, "dropped") == 0 { return }
        if strncmp(name, "gate", 4) == 0 {
            waiting { gate.wait() }
        } else if strcmp(name, "open-the-gate") == 0 {
            gate.open()
        } else if strcmp(name, "later") == 0 {
            return Self.answerElsewhere(reply)
        }
        guard strcmp(name, "hello") == 0 else {
            reply.absent(validFor: 0)
            return
        }
        seen.withLock { $0.lookups += 1 }
        reply.answer(Entry(node: Self.file, generation: 7, attributes: attributes(Self.file)))
    }

    override func forget(_ node: NodeID, count: UInt64) { seen.withLock { $0.forgotten += count } }

    override func getattr(_ node: NodeID, handle: HandleID?, caller: Caller, reply: consuming AttributeReply) {
        reply.answer(attributes(node), validFor: 0)
    }

    override func statx(
        _ node: NodeID, handle: HandleID?, mask: UInt32, caller: Caller, reply: consuming AttributeReply
    ) {
        reply.answer(attributes(node), validFor: 0)
    }

    override func open(
        _ node: NodeID, flags: Int32, killSetID: Bool, caller: Caller, reply: consuming OpenReply
    ) {
        let backingID = seen.withLock {
            $0.openKills = killSetID
            return $0.backingID
        }
        reply.answer(
            Opening(handle: HandleID(9), flags: backingID == nil ? [.directIO, .noFlush] : [], backingID: backingID))
    }

    override func tmpfile(
        in parent: NodeID, flags: Int32, mode: UInt32, caller: Caller, reply: consuming CreateReply
    ) {
        reply.answer(
            Entry(node: Self.tmpfile, generation: 7, attributes: attributes(Self.tmpfile)),
            Opening(handle: HandleID(10), flags: [.directIO, .noFlush]))
    }

    override func read(
        _ node: NodeID, handle: HandleID, offset: Int64, size: Int, flags: Int32, caller: Caller,
        reply: consuming DataReply
    ) {
        let rest = Self.text.dropFirst(Int(offset)).prefix(size)
        reply.fill(capacity: size) { buffer in
            rest.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return rest.count
        }
    }

    override func write(
        _ node: NodeID, handle: HandleID, offset: Int64, bytes: UnsafeRawBufferPointer, flags: Int32,
        writeFlags: WriteFlags, caller: Caller, reply: consuming WriteReply
    ) {
        seen.withLock {
            $0.fileFlags = flags
            $0.writeKills = writeFlags.contains(.killSetID)
        }
        reply.answer(written: UInt64(bytes.count))
    }

    override func copyFileRange(
        from source: FilePosition, to destination: FilePosition, length: UInt64, flags: UInt64, caller: Caller,
        reply: consuming WriteReply
    ) {
        reply.answer(written: source.handle == HandleID(9) && destination.handle == HandleID(10) ? 5 : 1)
    }

    override func flush(
        _ node: NodeID, handle: HandleID, lockOwner: UInt64, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.answer()
    }

    override func release(
        _ node: NodeID, handle: HandleID, flags: Int32, lockOwner: UInt64, caller: Caller,
        reply: consuming EmptyReply
    ) {
        reply.answer()
    }

    override func opendir(_ node: NodeID, flags: Int32, caller: Caller, reply: consuming OpenReply) {
        reply.answer(Opening(handle: HandleID(8)))
    }

    override func readdir(
        _ node: NodeID, handle: HandleID, offset: UInt64, caller: Caller, reply: consuming DirectoryReply
    ) {
        // Enough entries for several requests.
        for index in offset..<300 {
            let name = index == 0 ? "." : index == 1 ? ".." : index == 2 ? "hello" : "entry-number-\(index)"
            guard reply.add(name: name, ino: index + 1, type: UInt32(DT_REG), offset: index + 1) else { break }
        }
        reply.finish()
    }

    override func releasedir(
        _ node: NodeID, handle: HandleID, flags: Int32, caller: Caller, reply: consuming EmptyReply
    ) {
        reply.answer()
    }

    override func getxattr(
        _ node: NodeID, name: UnsafePointer<CChar>, size: Int, caller: Caller, reply: consuming XattrReply
    ) {
        if strcmp(name, "user.unimplemented") == 0 {
            reply.fail(ENOSYS)
        } else if strcmp(name, "user.name") == 0 {
            let value = Array("value".utf8)
            reply.answer(value.span.bytes)
        } else {
            reply.fail(ENODATA)
        }
    }
}

/// Requests wait here until somebody opens it.
private final class Gate: @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let opened = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(opened, nil)
    }

    deinit {
        pthread_cond_destroy(opened)
        pthread_mutex_destroy(lock)
        opened.deallocate()
        lock.deallocate()
    }

    func wait() {
        pthread_mutex_lock(lock)
        while !isOpen { pthread_cond_wait(opened, lock) }
        pthread_mutex_unlock(lock)
    }

    func shut() {
        pthread_mutex_lock(lock)
        isOpen = false
        pthread_mutex_unlock(lock)
    }

    func open() {
        pthread_mutex_lock(lock)
        isOpen = true
        pthread_cond_broadcast(opened)
        pthread_mutex_unlock(lock)
    }
}

/// The ways that requests can come here.
private let transports: [Transport] = {
    guard let obstacle = RingObstacle.present() else { return [.device, .uring] }
    print("io_uring as transport is not tested: \(obstacle)")
    return [.device]
}()

/// A mount of a handler that is served until `end`; never left behind.
private final class LiveMount: Sendable {
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
                ? try Mounting.mountThroughFusermount(source: "he,llo", at: path, flags: .noExecution)
                : try Mounting.mountAsRoot(source: "hello", at: path)
            session = try Session(handler: handler, deviceDescriptor: device, configuration: configuration)
        } catch {
            _ = try? Mounting.unmount(path, lazily: true)
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
            do throws(SessionError) { return try Mounting.unmount(path) } catch {
                guard error.errno == EBUSY else { throw error }
                usleep(10_000)
            }
        }
        try Mounting.unmount(path)
    }

    /// Waits for the session's end; call once, after `unmount` or `stop`.
    func join() -> SessionError? {
        pthread_join(thread, nil)
        return outcome.error.withLock { $0 }
    }

    deinit {
        _ = try? Mounting.unmount(path, lazily: true)
        rmdir(path)
    }
}

private let mountable: Bool = {
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

private func output(of command: String) -> String {
    guard let pipe = popen(command, "r") else { return "" }
    defer { pclose(pipe) }
    var text: [UInt8] = []
    while case let byte = fgetc(pipe), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
    return String(decoding: text, as: UTF8.self)
}

/// A function of libc that its Swift module does not show.
private func function<Function>(_ name: String, as type: Function.Type) throws -> Function {
    unsafeBitCast(try #require(dlsym(nil, name)), to: type)
}

private typealias GetXattr =
    @convention(c) (
        UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int
    ) -> Int
private typealias CopyFileRange =
    @convention(c) (
        Int32, UnsafeMutablePointer<Int64>?, Int32, UnsafeMutablePointer<Int64>?, Int, UInt32
    ) -> Int

private let isLong = getenv("ACLFS_TEST_LONG").map { String(cString: $0) == "1" } ?? false

private func errnoOf(_ call: () -> Int32) -> Int32 { call() == 0 ? 0 : errno }

// The limit counts the time in which suites that block hold all threads of the test run, too: in a long run most of it.
@Suite(.serialized, .enabled(if: mountable), .timeLimit(.minutes(isLong ? 120 : 10)))
struct SessionTests {
    @Test(arguments: transports) func serves(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport))
        let hello = mount.path + "/hello"

        #expect(output(of: "grep -c '^hello \(mount.path) fuse.aclfs ' /proc/mounts") == "1\n")
        #expect(output(of: "stat -c '%W %s %a %i %y' \(hello)").hasPrefix("\(HelloHandler.birth) 13 644 2 2017-"))
        #expect(output(of: "cat \(hello)") == "hello, world\n")
        #expect(output(of: "ls -U \(mount.path) | wc -l") == "298\n")

        #expect(errnoOf { mkdir(mount.path + "/new", 0o755) } == EPERM)
        #expect(errnoOf { truncate(hello, 0) } == EPERM)
        #expect(errnoOf { Glibc.access(hello, R_OK) } == EPERM)
        var attributes = stat()
        #expect(errnoOf { stat(mount.path + "/missing", &attributes) } == ENOENT)
        #expect(errnoOf { stat(mount.path + "/dropped", &attributes) } == EIO)
        let getxattr = try function("getxattr", as: GetXattr.self)
        // The kernel would never ask for attributes again if this ENOSYS reached it.
        #expect(getxattr(hello, "user.unimplemented", nil, 0) < 0 && errno == EPERM)
        #expect(getxattr(hello, "user.name", nil, 0) == 5)
        var value = [UInt8](repeating: 0, count: 5)
        #expect(getxattr(hello, "user.name", &value, 3) < 0 && errno == ERANGE)
        #expect(getxattr(hello, "user.name", &value, 5) == 5 && value == Array("value".utf8))

        let negotiated = try #require(mount.session.negotiated)
        #expect(negotiated.kernelMajor == 7)
        #expect(negotiated.uring == (transport == .uring))
        #expect(negotiated.parallelDirectoryOperations && negotiated.maxWrite == 1 << 20)

        try mount.unmount()
        #expect(mount.join() == nil)
        #expect(handler.seen.withLock { $0.initialized == 1 && $0.destroyed == 1 })
    }

    @Test(arguments: transports) func passesOnWhatTheLibraryDoesNotKnow(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport))
        let temporary: Int32 = 0o20200000  // O_TMPFILE, which Swift does not see
        let unnamed = Glibc.open(mount.path, temporary | O_RDWR, 0o600)
        try #require(unnamed >= 0, "tmpfile: errno \(errno)")
        #expect(Glibc.write(unnamed, "x", 1) == 1)
        #expect(handler.seen.withLock { $0.fileFlags } & O_APPEND == 0)
        _ = fcntl(unnamed, F_SETFL, O_APPEND)
        #expect(Glibc.write(unnamed, "x", 1) == 1)
        #expect(handler.seen.withLock { $0.fileFlags } & O_APPEND != 0)
        _ = fcntl(unnamed, F_SETFL, 0)  // copy_file_range(2) refuses to append
        let copyFileRange = try function("copy_file_range", as: CopyFileRange.self)
        let source = Glibc.open(mount.path + "/hello", O_RDONLY)
        #expect(copyFileRange(source, nil, unnamed, nil, 5, 0) == 5)
        close(source)
        close(unnamed)
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    /// They are read some time after they were sent, where rings serve, and all of them.
    @Test(arguments: transports) func takesEachForget(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport))
        var attributes = stat()
        for _ in 0..<300 {
            #expect(stat(mount.path + "/hello", &attributes) == 0)
            #expect(mount.session.notifier.invalidateEntry("hello", in: .root) == 0)
        }
        let asked = handler.seen.withLock { $0.lookups }
        #expect(asked == 300)
        for _ in 0..<500 where handler.seen.withLock({ $0.forgotten }) < asked { usleep(10_000) }
        #expect(handler.seen.withLock { $0.forgotten } == asked)
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    @Test(arguments: transports) func notifies(_ transport: Transport) throws {
        let mount = try LiveMount(HelloHandler(), configuration: SessionConfiguration(transport: transport))
        var attributes = stat()
        #expect(stat(mount.path + "/hello", &attributes) == 0)
        let notifier = mount.session.notifier
        #expect(notifier.invalidateAttributes(of: HelloHandler.file) == 0)
        #expect(notifier.invalidateContent(of: HelloHandler.file) == 0)
        #expect(notifier.invalidateAttributes(of: NodeID(99)) == ENOENT)
        let negotiated = try #require(mount.session.negotiated)
        #expect(notifier.expireEntry("hello", in: .root) == (negotiated.expire ? 0 : ENOSYS))
        #expect(notifier.invalidateEntry("hello", in: .root) == 0)
        #expect(notifier.increaseEpoch() == (negotiated.epoch ? 0 : ENOSYS))
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    @Test func hidesMaskedFeatures() throws {
        let mount = try LiveMount(
            HelloHandler(),
            configuration: SessionConfiguration(
                masked: [.killPriv2, .statx, .passthrough, .uring, .epoch, .expire], passthroughDepth: 1))
        #expect(output(of: "stat -c '%W %s' \(mount.path)/hello") == "0 13\n")
        let negotiated = try #require(mount.session.negotiated)
        #expect(!negotiated.killPriv2 && !negotiated.statx && !negotiated.passthrough)
        #expect(!negotiated.epoch && !negotiated.expire && !negotiated.uring)
        #expect(mount.session.notifier.increaseEpoch() == ENOSYS)
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    @Test(arguments: transports) func stopsWhileMounted(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport))
        var attributes = stat()
        #expect(stat(mount.path + "/hello", &attributes) == 0)
        mount.session.stop()
        #expect(mount.join() == nil)
        #expect(handler.seen.withLock { $0.destroyed } == 1)
    }

    @Test(.enabled(if: Glibc.access("/usr/bin/fusermount3", X_OK) == 0))
    func mountsThroughFusermount() throws {
        let mount = try LiveMount(HelloHandler(), throughFusermount: true)
        #expect(output(of: "cat \(mount.path)/hello") == "hello, world\n")
        #expect(output(of: "grep -c '^he,llo \(mount.path) fuse.aclfs .*noexec' /proc/mounts") == "1\n")
        try mount.unmount()
        #expect(mount.join() == nil)
        #expect(throws: SessionError.self) {
            try Mounting.mountThroughFusermount(source: "hello", at: "/nonexistent")
        }
    }

    @Test(arguments: transports) func asksForSetIDBitsToGo(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport))
        let text = output(of: "setpriv --reuid 1000 --clear-groups sh -c 'echo > \(mount.path)/hello' 2>&1")
        let negotiated = try #require(mount.session.negotiated)
        #expect(text == "")
        #expect(handler.seen.withLock { $0.writeKills })
        #expect(handler.seen.withLock { $0.openKills } == negotiated.killPriv2)
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    @Test(arguments: transports) func passesThrough(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport, passthroughDepth: 1))
        var attributes = stat()
        #expect(stat(mount.path, &attributes) == 0)
        if try #require(mount.session.negotiated).passthrough {
            let file = try #require(tmpfile())
            fputs("HELLO, WORLD\n", file)
            fflush(file)
            let id = mount.session.notifier.openBacking(fileno(file))
            // The temporary directory may be on a file system that is itself stacked.
            if id > 0 {
                handler.seen.withLock { $0.backingID = id }
                #expect(output(of: "cat \(mount.path)/hello") == "HELLO, WORLD\n")
                #expect(mount.session.notifier.closeBacking(id) == 0)
            } else {
                print("passthrough not tried: errno \(-id)")
            }
            fclose(file)
        }
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    @Test(arguments: transports) func endsUnderLoad(_ transport: Transport) throws {
        for round in 0..<10 {
            let mount = try LiveMount(HelloHandler(), configuration: SessionConfiguration(transport: transport))
            let path = mount.path + "/hello"
            let load = "i=0; while [ $i -lt 200 ]; do stat \(path) >/dev/null 2>&1 || exit 0; i=$((i+1)); done"
            let children = [popen(load, "r"), popen(load, "r")]
            var attributes = stat()
            #expect(stat(path, &attributes) == 0)
            if round.isMultiple(of: 2) {
                mount.session.stop()
            } else {
                try Mounting.unmount(mount.path, lazily: true)
            }
            #expect(mount.join() == nil)
            try? Mounting.unmount(mount.path, lazily: true)
            _ = consume mount  // closes the device, which frees whoever still waits
            for case let child? in children { pclose(child) }
        }
    }

    @Test(arguments: transports) func largeRequestsKeepTheirBytes(_ transport: Transport) throws {
        let mount = try LiveMount(HelloHandler(), configuration: SessionConfiguration(transport: transport))
        #expect(output(of: "head -c 3000000 /dev/zero | dd of=\(mount.path)/hello bs=1M conv=notrunc 2>/dev/null; echo $?") == "0\n")
        // The longest name, and a target that fills a page.
        let name = String(repeating: "n", count: 255)
        var attributes = stat()
        #expect(errnoOf { stat(mount.path + "/" + name, &attributes) } == ENOENT)
        #expect(errnoOf { symlink(String(repeating: "t", count: 4095), mount.path + "/" + name) } == EPERM)
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    @Test(arguments: transports) func anotherThreadMayAnswer(_ transport: Transport) throws {
        let mount = try LiveMount(HelloHandler(), configuration: SessionConfiguration(transport: transport))
        var attributes = stat()
        for _ in 0..<20 { #expect(errnoOf { stat(mount.path + "/later", &attributes) } == ENOENT) }
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    /// All on one processor, so that over io_uring they share a queue. The last one lets the others go on; if it had to
    /// wait behind them, nobody would.
    @Test(arguments: transports) func whoWaitsHoldsUpNobody(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport))
        let names = "seq -f gate-%g 12; sleep 1; echo open-the-gate"
        let call = "taskset -c 0 stat \(mount.path)/{} 2>/dev/null || echo absent"
        let script = "(\(names)) | xargs -P 20 -I {} sh -c '\(call)' | grep -c absent"
        #expect(output(of: script) == "13\n")
        // Again, with those that were too many meanwhile.
        handler.gate.shut()
        #expect(output(of: script) == "13\n")
        try mount.unmount()
        #expect(mount.join() == nil)
    }

    @Test(arguments: transports) func anInterruptReachesWhoWaits(_ transport: Transport) throws {
        let handler = HelloHandler()
        let mount = try LiveMount(handler, configuration: SessionConfiguration(transport: transport))
        let command = "timeout -s KILL 0.3 dd if=/dev/null of=\(mount.path)/hello conv=fsync,notrunc"
        #expect(output(of: "\(command) 2>/dev/null; echo gone") == "gone\n")
        // It is answered when the caller has gone.
        eventually { handler.seen.withLock { $0.interrupted } > 0 }
        #expect(handler.seen.withLock { $0.interrupted } == 1)
        #expect(output(of: "cat \(mount.path)/hello") == "hello, world\n")
        // Who was killed may not have closed the file yet.
        for tries in 0..<1000 {
            do throws(SessionError) {
                try mount.unmount()
                break
            } catch {
                if error.errno != EBUSY || tries == 999 { throw error }
                usleep(10_000)
            }
        }
        #expect(mount.join() == nil)
    }

    @Test func ringsThatAreDemandedAndCannotBe() throws {
        // As on a kernel that has none.
        let mount = try LiveMount(
            HelloHandler(), configuration: SessionConfiguration(masked: [.uring], transport: .uring))
        var attributes = stat()
        #expect(stat(mount.path + "/hello", &attributes) != 0)
        let error = try #require(mount.join())
        #expect(error.step == .transport)
    }
}
