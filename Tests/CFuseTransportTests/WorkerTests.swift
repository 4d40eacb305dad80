import CFuseTransport
import Glibc
import LinuxSystem
import TestSupport
import Testing
import TransportHarness

/// The pool of workers, on a socket in place of /dev/fuse (docs/internals/transport.md "Through the device").
@Suite(.serialized)
struct WorkerTests {
    // MARK: requests and replies

    @Test func aRequestAndItsReplyArriveWhole() {
        let seen = Lock<[Request]>([])
        let sent = Lock<Int>(0)
        let transport = SocketTransport(workers: 2) { transport, request in
            seen.withLock { $0.append(request) }
            let count = transport.answer(request, body: request.body.reversed())
            sent.withLock { $0 = count }
        }
        defer { transport.end() }
        let body = (0..<5000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        transport.send(Request(opcode: 77, unique: 42, caller: 5, body: body))
        #expect(transport.receive() == Reply(unique: 42, body: body.reversed()))
        let request = seen.withLock { $0.first }
        #expect(request?.opcode == 77 && request?.unique == 42 && request?.caller == 5 && request?.body == body)
        #expect(eventually { sent.withLock { $0 } == 5016 })
    }

    @Test func anotherThreadMayAnswer() {
        let held = Lock<Request?>(nil)
        let transport = SocketTransport(workers: 1) { _, request in held.withLock { $0 = request } }
        defer { transport.end() }
        transport.send(Request(unique: 7))
        #expect(eventually { held.withLock { $0 != nil } })
        if let request = held.withLock({ $0 }) { transport.answer(request) }
        #expect(transport.receive() == Reply(unique: 7))
    }

    // MARK: until INIT is answered

    @Test func untilItIsReadyOneWorkerReads() {
        let entered = Lock<Bool>(false)
        let transport = SocketTransport(
            workers: 3,
            initialize: { transport in
                entered.withLock { $0 = true }
                transport.gate.wait()
            })
        defer { transport.end() }
        #expect(eventually { entered.withLock { $0 } })
        #expect(transport.counts.started == 3)
        transport.send(Request(unique: 2))
        usleep(100_000)
        // The first is at INIT; neither of the others reads.
        #expect(transport.counts.idle == 0)
        transport.ready()
        // It is answered although INIT is still at work.
        #expect(transport.receive() == Reply(unique: 2))
    }

    @Test func stopEndsThoseThatWaitForIt() {
        let transport = SocketTransport(workers: 3, initialize: nil)
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 1 })
        transport.stop()
        #expect(transport.join() == 0)
    }

    // MARK: growing and shrinking

    /// Requests with an odd number wait for the gate, and say so.
    private static func waitWhereOdd(_ transport: SocketTransport, _ request: Request) {
        if request.unique % 2 == 1 {
            aclfs_transport_block()
            transport.gate.wait()
            aclfs_transport_unblock()
        }
        transport.answer(request)
    }

    /// As `eventually`. A worker in excess parks after a request: one that got no processor for a moment had others serve beside it, and these
    /// need another request for that.
    private func settles(_ transport: SocketTransport, _ holds: () -> Bool) -> Bool {
        eventually {
            if holds() { return true }
            transport.send(Request(unique: 2))
            _ = transport.receive()
            return false
        }
    }

    @Test func aHandlerThatSaysItWaitsIsReplaced() {
        let transport = SocketTransport(workers: 2, serve: Self.waitWhereOdd)
        defer { transport.end() }
        for unique: UInt64 in [11, 13, 15, 17] { transport.send(Request(unique: unique)) }
        #expect(eventually { transport.counts.started == 6 })
        transport.send(Request(unique: 2))
        #expect(transport.receive() == Reply(unique: 2))
        #expect(transport.counts.serving == 2)
        transport.gate.open()
        #expect(transport.receiveUniques(4) == [11, 13, 15, 17])
    }

    @Test func thoseThatAreTooManyAreParked() {
        let transport = SocketTransport(workers: 2, serve: Self.waitWhereOdd)
        defer { transport.end() }
        for unique: UInt64 in [11, 13, 15, 17] { transport.send(Request(unique: unique)) }
        #expect(eventually { transport.counts.started == 6 && transport.counts.idle == 2 })
        transport.gate.open()
        #expect(transport.receiveUniques(4) == [11, 13, 15, 17])
        #expect(
            settles(transport) { transport.counts.parked == 4 && transport.counts.serving == 2 && transport.counts.idle == 2 })
        #expect(transport.counts.started == 6)
        // And they do not come back for requests that do not wait.
        for unique: UInt64 in 100..<120 { transport.send(Request(unique: unique * 2)) }
        #expect(transport.receiveUniques(20).count == 20)
        #expect(transport.counts.parked == 4)
    }

    @Test func parkedWorkersAreCalledBackBeforeOthersAreStarted() {
        let transport = SocketTransport(workers: 2, serve: Self.waitWhereOdd)
        defer { transport.end() }
        for unique: UInt64 in [11, 13, 15] { transport.send(Request(unique: unique)) }
        #expect(eventually { transport.counts.started == 5 })
        transport.gate.open()
        #expect(transport.receiveUniques(3) == [11, 13, 15])
        #expect(settles(transport) { transport.counts.parked == 3 })
        transport.gate.shut()
        for unique: UInt64 in [21, 23, 25] { transport.send(Request(unique: unique)) }
        #expect(eventually { transport.counts.parked == 0 && transport.counts.idle == 2 })
        #expect(transport.counts.started == 5)
        // One more than ever before.
        transport.send(Request(unique: 27))
        #expect(eventually { transport.counts.started == 6 })
        transport.gate.open()
        #expect(transport.receiveUniques(4) == [21, 23, 25, 27])
        #expect(
            settles(transport) { transport.counts.parked == 4 && transport.counts.serving == 2 && transport.counts.idle == 2 })
    }

    /// Not for the same user. For others one more worker comes when all have been busy for long.
    @Test func aHandlerThatDoesNotSayItIsNotReplaced() {
        let entered = Lock<Int>(0)
        let transport = SocketTransport(workers: 2) { transport, request in
            entered.withLock { $0 += 1 }
            transport.gate.wait()
            transport.answer(request)
        }
        defer { transport.end() }
        for unique: UInt64 in 11...14 { transport.send(Request(unique: unique)) }
        #expect(eventually { transport.counts.started == 3 && transport.counts.idle == 1 })
        usleep(50_000)
        #expect(transport.counts.started == 3)
        #expect(entered.withLock { $0 } == 2)
        transport.gate.open()
        #expect(transport.receiveUniques(4) == [11, 12, 13, 14])
        // When it has been quiet for a while, none more than before serve.
        transport.send(Request(unique: 15))
        #expect(transport.receive() == Reply(unique: 15))
        #expect(eventually { transport.counts.serving >= 2 })
    }

    // MARK: whose turn it is

    /// docs/internals/transport.md "Whose turn it is".
    @Test func anotherUserNeedNotWaitForAllOfOne() {
        let order = Lock<[UInt64]>([])
        let transport = SocketTransport(workers: 2) { transport, request in
            order.withLock { $0.append(request.unique) }
            if request.unique < 13 { transport.gate.wait() }
            transport.answer(request)
        }
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 2 })
        // Both workers are busy for the first user, whose other requests were sent before that of the second.
        for unique: UInt64 in 11...26 { transport.send(Request(unique: unique, uid: 501)) }
        transport.send(Request(unique: 90, uid: 502))
        // It is answered although nothing that was sent before it has been.
        #expect(transport.receive() == Reply(unique: 90))
        #expect(order.withLock { Set($0) }.isSubset(of: [11, 12, 90]))
        transport.gate.open()
        #expect(transport.receiveUniques(16) == Set(11...26))
        #expect(order.withLock { $0.count } == 17)
    }

    @Test func usersTakeTurns() {
        let order = Lock<[UInt32]>([])
        let transport = SocketTransport(workers: 2) { transport, request in
            if request.unique < 13 { transport.gate.wait() }
            if request.unique >= 20 { order.withLock { $0.append(request.uid) } }
            transport.answer(request)
        }
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 2 })
        for unique: UInt64 in 11...12 { transport.send(Request(unique: unique, uid: 501)) }
        #expect(eventually { transport.counts.idle == 0 || transport.counts.started > 2 })
        for unique: UInt64 in 20..<40 { transport.send(Request(unique: unique, uid: 501)) }
        transport.send(Request(unique: 40, uid: 502))
        transport.send(Request(unique: 41, uid: 503))
        #expect(transport.receiveUniques(2) == [40, 41])
        transport.gate.open()
        #expect(transport.receiveUniques(22) == Set([11, 12] + Array(20..<40)))
        #expect(Set(order.withLock { $0 }.prefix(2)) == [502, 503])
    }

    /// The numbers are those of no other test: what stands behind a uid is known to the whole process.
    @Test func theUidsOfOnePersonTakeTurnsTogether() {
        aclfs_transport_set_persons { uid in uid >= 900_000 ? 900_000 : uid }
        let order = Lock<[UInt64]>([])
        let transport = SocketTransport(workers: 2) { transport, request in
            order.withLock { $0.append(request.unique) }
            if request.unique < 13 { transport.gate.wait() }
            transport.answer(request)
        }
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 2 })
        for unique: UInt64 in 11...26 { transport.send(Request(unique: unique, uid: 900_000 + UInt32(unique))) }
        transport.send(Request(unique: 90, uid: 502))
        #expect(transport.receive() == Reply(unique: 90))
        #expect(order.withLock { Set($0) }.isSubset(of: [11, 12, 90]))
        transport.gate.open()
        #expect(transport.receiveUniques(16) == Set(11...26))
    }

    /// What waits in the daemon is lost by no end of a handler, and answered once.
    @Test func everyRequestHasItsTurn() {
        let seen = Lock<[UInt64: Int]>([:])
        let transport = SocketTransport(workers: 3) { transport, request in
            seen.withLock { $0[request.unique, default: 0] += 1 }
            if request.unique % 3 == 0 {
                aclfs_transport_block()
                usleep(200)
                aclfs_transport_unblock()
            } else if request.unique % 3 == 1 {
                aclfs_transport_block_lightly()
                usleep(100)
                aclfs_transport_unblock_lightly()
            }
            transport.answer(request)
        }
        defer { transport.end() }
        var answered: Set<UInt64> = []
        var next: UInt64 = 100
        for _ in 0..<40 {
            let sent = next..<next + 40
            for unique in sent { transport.send(Request(unique: unique, uid: unique % 7 == 0 ? 502 : 501)) }
            next += 40
            answered.formUnion(transport.receiveUniques(40))
        }
        #expect(answered == Set(100..<next))
        #expect(seen.withLock { $0.filter { $0.key >= 100 && $0.value != 1 }.isEmpty })
    }

    @Test func noMoreThanTheMostAreStarted() {
        let most = harness_most_spare_workers()
        #expect(most == 160)
        let entered = Lock<UInt32>(0)
        let transport = SocketTransport(workers: 2) { transport, request in
            entered.withLock { $0 += 1 }
            Self.waitWhereOdd(transport, request)
        }
        defer { transport.end() }
        // Sent one by one: the socket does not hold so many.
        for number in 0..<most + 2 {
            transport.send(Request(unique: UInt64(number) * 2 + 11))
            #expect(eventually { entered.withLock { $0 } == number + 1 })
        }
        #expect(eventually { transport.counts.started == most + 2 && transport.counts.serving == 0 })
        transport.send(Request(unique: 2))
        usleep(50_000)
        // All of them wait, so this does as well.
        #expect(entered.withLock { $0 } == most + 2 && transport.counts.started == most + 2)
        transport.gate.open()
        #expect(transport.receiveUniques(Int(most) + 3).count == Int(most) + 3)
    }

    @Test func blocksMayBeNested() {
        let steps = (Gate(), Gate(), Gate())
        let transport = SocketTransport(workers: 2) { transport, request in
            aclfs_transport_block()
            aclfs_transport_block()
            steps.0.wait()
            aclfs_transport_unblock()
            steps.1.wait()
            aclfs_transport_unblock()
            steps.2.wait()
            transport.answer(request)
        }
        defer { transport.end() }
        defer { for step in [steps.0, steps.1, steps.2] { step.open() } }
        transport.send(Request(unique: 2))
        #expect(eventually { transport.counts.started == 3 })
        #expect(transport.counts.serving == 2)
        steps.0.open()
        usleep(50_000)
        #expect(transport.counts.serving == 2)
        steps.1.open()
        #expect(eventually { transport.counts.serving == 3 })
        steps.2.open()
        #expect(transport.receive() == Reply(unique: 2))
        #expect(eventually { transport.counts.serving == 2 && transport.counts.parked == 1 })
    }

    @Test func outsideOfItsThreadsNothingIsCounted() {
        let transport = SocketTransport(workers: 2)
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 2 })
        aclfs_transport_block()
        aclfs_transport_block_lightly()
        #expect(transport.counts.serving == 2 && transport.counts.started == 2)
        aclfs_transport_unblock_lightly()
        aclfs_transport_unblock()
        #expect(transport.counts.serving == 2)
    }

    // MARK: what hardly ever waits

    @Test func aLightBlockCountsOnlyForTheLastThatIsIdle() {
        let waiting = Lock<Int>(0)
        let transport = SocketTransport(workers: 3) { transport, request in
            aclfs_transport_block_lightly()
            waiting.withLock { $0 += 1 }
            transport.gate.wait()
            aclfs_transport_unblock_lightly()
            transport.answer(request)
        }
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 3 })
        for count in 1...2 {
            transport.send(Request(unique: 10 + UInt64(count)))
            #expect(eventually { waiting.withLock { $0 } == count })
            #expect(transport.counts.serving == 3 && transport.counts.started == 3)
        }
        // The last one makes room for a further one, and for none more.
        transport.send(Request(unique: 13))
        #expect(eventually { transport.counts.started == 4 && transport.counts.idle == 1 })
        #expect(transport.counts.serving == 3)
        transport.gate.open()
        #expect(transport.receiveUniques(3) == [11, 12, 13])
        #expect(eventually { transport.counts.serving == 3 && transport.counts.parked == 1 })
    }

    @Test func aLightBlockStaysLightWhenNoneIsIdleAnyMore() {
        let entered = Lock<Int>(0)
        let step = Gate()
        let transport = SocketTransport(workers: 2) { transport, request in
            if request.unique == 11 { aclfs_transport_block_lightly() }
            entered.withLock { $0 += 1 }
            step.wait()
            if request.unique == 11 { aclfs_transport_block_lightly() }
            entered.withLock { $0 += 1 }
            transport.gate.wait()
            if request.unique == 11 {
                aclfs_transport_unblock_lightly()
                aclfs_transport_unblock_lightly()
            }
            transport.answer(request)
        }
        defer { transport.end() }
        defer { step.open() }
        #expect(eventually { transport.counts.idle == 2 })
        for (count, unique) in [(1, UInt64(11)), (2, 12)] {
            transport.send(Request(unique: unique))
            #expect(eventually { entered.withLock { $0 } == count })
        }
        step.open()
        #expect(eventually { entered.withLock { $0 } == 4 })
        #expect(transport.counts.serving == 2 && transport.counts.started == 2)
        transport.gate.open()
        #expect(transport.receiveUniques(2) == [11, 12])
        #expect(eventually { transport.counts.serving == 2 && transport.counts.idle == 2 })
    }

    /// An end belongs to its beginning, whatever has become of the idle ones meanwhile.
    @Test func lightBlocksMayBeNestedInOthers() {
        let step = Gate()
        let transport = SocketTransport(workers: 2) { transport, request in
            aclfs_transport_block_lightly()
            aclfs_transport_block_lightly()
            aclfs_transport_unblock_lightly()
            aclfs_transport_block()
            aclfs_transport_block_lightly()
            step.wait()
            aclfs_transport_unblock_lightly()
            aclfs_transport_unblock()
            aclfs_transport_unblock_lightly()
            transport.gate.wait()
            transport.answer(request)
        }
        defer { transport.end() }
        defer { step.open() }
        #expect(eventually { transport.counts.idle == 2 })
        transport.send(Request(unique: 2))
        #expect(eventually { transport.counts.started == 3 && transport.counts.idle == 2 })
        #expect(transport.counts.serving == 2)
        step.open()
        #expect(eventually { transport.counts.serving == 3 })
        transport.gate.open()
        #expect(transport.receive() == Reply(unique: 2))
        #expect(eventually { transport.counts.serving == 2 && transport.counts.parked == 1 })
    }

    @Test func idleAreThoseThatWaitForARequest() {
        let transport = SocketTransport(workers: 3) { transport, request in
            if request.unique > 10 { transport.gate.wait() }
            transport.answer(request)
        }
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 3 })
        transport.send(Request(unique: 11))
        #expect(eventually { transport.counts.idle == 2 })
        transport.send(Request(unique: 12))
        #expect(eventually { transport.counts.idle == 1 })
        transport.send(Request(unique: 2))
        #expect(transport.receive() == Reply(unique: 2))
        #expect(eventually { transport.counts.idle == 1 })
        transport.gate.open()
        #expect(transport.receiveUniques(2) == [11, 12])
        #expect(eventually { transport.counts.idle == 3 })
    }

    // MARK: the end

    @Test func stopWakesThoseThatWait() {
        let transport = SocketTransport(workers: 3)
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 3 })
        transport.stop()
        #expect(transport.join() == 0)
        #expect(transport.counts.live == 0)
    }

    @Test func stopWakesThoseThatAreParked() {
        let transport = SocketTransport(workers: 1, serve: Self.waitWhereOdd)
        defer { transport.end() }
        for unique: UInt64 in [11, 13] { transport.send(Request(unique: unique)) }
        #expect(eventually { transport.counts.started == 3 })
        transport.gate.open()
        #expect(transport.receiveUniques(2) == [11, 13])
        #expect(settles(transport) { transport.counts.parked == 2 })
        transport.stop()
        #expect(transport.join() == 0)
    }

    @Test func theRequestInHandIsAnsweredFirst() {
        let entered = Lock<Bool>(false)
        let transport = SocketTransport(workers: 2) { transport, request in
            entered.withLock { $0 = true }
            transport.gate.wait()
            transport.answer(request)
        }
        defer { transport.end() }
        transport.send(Request(unique: 11))
        #expect(eventually { entered.withLock { $0 } })
        transport.stop()
        // The other one ends; the handler is not disturbed.
        #expect(eventually { transport.counts.live == 1 })
        usleep(50_000)
        #expect(transport.ended == nil)
        transport.gate.open()
        #expect(transport.receive() == Reply(unique: 11))
        #expect(transport.join() == 0)
    }

    /// Its system calls would end with EINTR.
    @Test func stopDisturbsNoHandler() {
        let result = Lock<Int32?>(nil)
        let entered = Lock<Bool>(false)
        let transport = SocketTransport(workers: 2) { transport, request in
            entered.withLock { $0 = true }
            var time = timespec(tv_sec: 0, tv_nsec: 200_000_000)
            let slept = nanosleep(&time, nil)
            result.withLock { $0 = slept }
            transport.answer(request)
        }
        defer { transport.end() }
        transport.send(Request(unique: 11))
        #expect(eventually { entered.withLock { $0 } })
        transport.stop()
        #expect(transport.join() == 0)
        #expect(result.withLock { $0 } == 0)
    }

    @Test func aHandlerThatWaitsIsNotReplacedAfterTheEnd() {
        let entered = Lock<Bool>(false)
        let step = Gate()
        let transport = SocketTransport(workers: 1) { transport, request in
            entered.withLock { $0 = true }
            step.wait()
            aclfs_transport_block()
            transport.gate.wait()
            aclfs_transport_unblock()
            transport.answer(request)
        }
        defer { transport.end() }
        defer { step.open() }
        transport.send(Request(unique: 11))
        #expect(eventually { entered.withLock { $0 } })
        transport.stop()
        // With one worker, one more may have come before the end.
        let before = transport.counts
        step.open()
        #expect(eventually { transport.counts.serving == before.serving - 1 })
        usleep(50_000)
        #expect(transport.counts.started == before.started)
        transport.gate.open()
        #expect(transport.receive() == Reply(unique: 11))
        #expect(transport.join() == 0)
    }

    @Test func theFailureThatStopsItIsReturned() {
        let transport = SocketTransport(workers: 2)
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 2 })
        transport.stop(failure: -EPROTONOSUPPORT)
        // A later stop without one does not hide it.
        transport.stop()
        #expect(transport.join() == -EPROTONOSUPPORT)
    }

    @Test func itEndsWithTheMount() {
        let transport = SocketTransport(workers: 3)
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 3 })
        transport.unmount()
        #expect(transport.join() == 0)
    }

    /// What the kernel never sends: a message without a header.
    @Test func aDeviceThatCannotBeReadEndsIt() {
        let transport = SocketTransport(workers: 3)
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 3 })
        transport.send(bytes: [1, 2, 3])
        #expect(transport.join() == -EIO)
    }

    @Test func itRunsOnceAtATime() {
        let transport = SocketTransport(workers: 1)
        defer { transport.end() }
        #expect(eventually { transport.counts.idle == 1 })
        #expect(aclfs_transport_run(transport.raw, 1) == -EBUSY)
        #expect(aclfs_transport_run(transport.raw, 0) == -EINVAL)
        transport.send(Request(unique: 2))
        #expect(transport.receive() == Reply(unique: 2))
    }

    // MARK: signals

    @Test func workersTakeNoSignalsButFaultsAndTheOneThatWakesThem() {
        let blocked = Lock<[Int32: Bool]>([:])
        let wake = harness_wake_signal()
        let transport = SocketTransport(workers: 2) { transport, request in
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGSEGV, SIGBUS, SIGABRT, wake] {
                let isBlocked = sigismember(&mask, signal) == 1
                blocked.withLock { $0[signal] = isBlocked }
            }
            transport.answer(request)
        }
        defer { transport.end() }
        transport.send(Request(unique: 2))
        #expect(transport.receive() == Reply(unique: 2))
        #expect(
            blocked.withLock { $0 } == [
                SIGTERM: true, SIGINT: true, SIGHUP: true, SIGUSR1: true, SIGCHLD: true, SIGSEGV: false, SIGBUS: false,
                SIGABRT: false, wake: false,
            ])
    }
}
