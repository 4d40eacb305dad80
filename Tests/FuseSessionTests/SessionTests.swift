import FuseMounts
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import FuseSession

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

private func errnoOf(_ call: () -> Int32) -> Int32 { call() == 0 ? 0 : errno }

@Suite(.serialized, .enabled(if: mountable, "needs root and /dev/fuse"))
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

    @Test(.enabled(if: Glibc.access("/usr/bin/fusermount3", X_OK) == 0, "needs fusermount3"))
    func mountsThroughFusermount() throws {
        let mount = try LiveMount(HelloHandler(), throughFusermount: true)
        #expect(output(of: "cat \(mount.path)/hello") == "hello, world\n")
        #expect(output(of: "grep -c '^he,llo \(mount.path) fuse.aclfs .*noexec' /proc/mounts") == "1\n")
        try mount.unmount()
        #expect(mount.join() == nil)
        #expect(throws: SessionError.self) {
            try FuseMount.mountThroughFusermount(source: "hello", at: "/nonexistent")
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
                try FuseMount.unmount(mount.path, lazily: true)
            }
            #expect(mount.join() == nil)
            try? FuseMount.unmount(mount.path, lazily: true)
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
