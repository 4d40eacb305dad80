import CFuseTransport
import Glibc
import LinuxSystem
import TestSupport
import Testing
import TransportHarness

/// Commands and completions in memory that no kernel looks at.
struct RingTests {
    private struct Submission {
        let bytes: [UInt8]
        init(_ ring: OpaquePointer, _ place: UInt32) {
            bytes = Array(
                UnsafeRawBufferPointer(
                    start: harness_ring_submission(ring, place), count: Int(HARNESS_SUBMISSION_SIZE)))
        }
        func load<Value>(_ offset: Int, as type: Value.Type) -> Value {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
        }
        // As struct io_uring_sqe has them; what the command carries lies behind the first 48 bytes.
        var opcode: UInt8 { bytes[0] }
        var flags: UInt8 { bytes[1] }
        var command: UInt64 { load(8, as: UInt64.self) }
        var address: UInt { load(16, as: UInt.self) }
        var count: UInt32 { load(24, as: UInt32.self) }
        var requestFlags: UInt64 { load(48, as: UInt64.self) }
        var commit: UInt64 { load(56, as: UInt64.self) }
        var queue: UInt16 { load(64, as: UInt16.self) }
        var isZeroBehind: Bool { bytes[66...].allSatisfy { $0 == 0 } }
    }

    @Test func anEntryIsRegisteredWithItsTwoParts() throws {
        let memory = EntryMemory(room: 12345)
        let ring = harness_ring_new(memory.entry)
        defer { harness_ring_free(ring) }
        harness_ring_submit(ring, Int32(HARNESS_RING_REGISTER), 7, 0)
        #expect(harness_ring_submitted(ring) == 1)
        let submission = Submission(ring, 0)
        #expect(submission.opcode == 46 && submission.flags == 1)
        #expect(
            submission.command == 1 && submission.queue == 7 && submission.commit == 0 && submission.requestFlags == 0)
        #expect(submission.isZeroBehind)
        #expect(submission.count == 2)
        let parts = try #require(UnsafePointer<iovec>(bitPattern: submission.address))
        #expect(parts[0].iov_base == UnsafeMutableRawPointer(memory.entry.memory) && parts[0].iov_len == 288)
        #expect(parts[1].iov_base == memory.payload && parts[1].iov_len == 12345)
    }

    @Test func aCommitNamesTheRequestAndTakesTheNextPlace() {
        let memory = EntryMemory(room: 4096)
        let ring = harness_ring_new(memory.entry)
        defer { harness_ring_free(ring) }
        for (number, place) in [(UInt64(0), UInt32(0)), (1, 1), (2, 0)] {
            harness_ring_submit(ring, Int32(HARNESS_RING_COMMIT_AND_FETCH), 65535, 0x1_0000_0000 + number)
            #expect(harness_ring_submitted(ring) == UInt32(number) + 1)
            let submission = Submission(ring, place)
            #expect(submission.opcode == 46 && submission.flags == 1)
            #expect(submission.command == 2 && submission.queue == 65535 && submission.commit == 0x1_0000_0000 + number)
            #expect(submission.address == 0 && submission.count == 0 && submission.isZeroBehind)
        }
    }

    @Test func completionsAreTakenOnceAndInTheirOrder() {
        let ring = harness_ring_new(EntryMemory(room: 4096).entry)
        defer { harness_ring_free(ring) }
        var result: Int32 = 5
        #expect(!harness_ring_take(ring, &result) && result == 5)
        for round in 0..<3 as Range<Int32> {
            harness_ring_complete(ring, -round)
            harness_ring_complete(ring, 100 + round)
            #expect(harness_ring_take(ring, &result) && result == -round)
            #expect(harness_ring_take(ring, &result) && result == 100 + round)
            #expect(!harness_ring_take(ring, &result))
        }
    }
}

/// Which way a reply goes, where some requests come through rings.
@Suite(.serialized)
struct RingAnswerTests {
    private static func answer(_ transport: SocketTransport, _ thread: OpaquePointer, _ reply: Reply) -> (Int, Int32) {
        reply.withParts { parts, count in
            let result = aclfs_transport_answer(transport.raw, thread, parts, count)
            return (result, errno)
        }
    }

    @Test func aReplyGoesIntoTheEntryOfItsRequest() {
        let transport = SocketTransport(workers: 1)
        defer { transport.end() }
        let memory = EntryMemory(room: 4096)
        let thread = harness_ring_thread_new(transport.raw, memory.entry, 33)
        defer { harness_ring_thread_free(thread) }
        let reply = Reply(unique: 33, body: [1, 2, 3])
        #expect(Self.answer(transport, thread, reply).0 == 19)
        #expect(memory.reply == reply)
        #expect(harness_ring_thread_unique(thread) == 0)
    }

    /// The library answers an interrupt while it looks at another request.
    @Test func aReplyToAnotherRequestGoesThroughTheDevice() {
        let transport = SocketTransport(workers: 1)
        defer { transport.end() }
        let memory = EntryMemory(room: 4096)
        let thread = harness_ring_thread_new(transport.raw, memory.entry, 33)
        defer { harness_ring_thread_free(thread) }
        let reply = Reply(unique: 34, error: -EAGAIN)
        #expect(Self.answer(transport, thread, reply).0 == 16)
        #expect(transport.receive() == reply)
        #expect(harness_ring_thread_unique(thread) == 33)
    }

    @Test func aReplyThatDoesNotFitBecomesAnError() {
        let transport = SocketTransport(workers: 1)
        defer { transport.end() }
        let memory = EntryMemory(room: 8)
        let thread = harness_ring_thread_new(transport.raw, memory.entry, 33)
        defer { harness_ring_thread_free(thread) }
        let (result, error) = Self.answer(transport, thread, Reply(unique: 33, body: Array(repeating: 1, count: 9)))
        #expect(result == -1 && error == EINVAL)
        #expect(memory.reply == Reply(unique: 33, error: -EIO))
        #expect(harness_ring_thread_unique(thread) == 0)
    }
}

/// Rings that the kernel's io_uring makes, for a device that serves none.
@Suite(.serialized, .enabled(if: aclfs_transport_probe_rings() == 0, "needs io_uring"))
struct RingPreparationTests {
    private static func prepare(_ transport: SocketTransport) -> Int32 {
        aclfs_transport_prepare_rings(transport.raw, 8192)
    }

    private static func processors(_ transport: SocketTransport) -> [Int32] {
        var processors = [Int32](repeating: 0, count: 4096)
        let count = harness_ring_processors(transport.raw, &processors, processors.count)
        return Array(processors.prefix(count))
    }

    @Test func eachProcessorHasThreadsThatAreBoundToIt() {
        let result = Lock<Int32?>(nil)
        let transport = SocketTransport(
            workers: 2,
            initialize: { transport in
                let prepared = Self.prepare(transport)
                result.withLock { $0 = prepared }
                transport.gate.wait()
            })
        defer { transport.end() }
        #expect(eventually { result.withLock { $0 } != nil })
        #expect(result.withLock { $0 } == 0)
        let processors = Self.processors(transport)
        let threads = Dictionary(grouping: processors) { $0 }.mapValues(\.count)
        // Not all processors that there could be are there, and not all need be allowed.
        #expect(threads.keys.contains { $0 >= 0 })
        for (processor, count) in threads where processor >= 0 {
            let queues = processors.count / count
            #expect(count == min(8, max(2, 128 / queues)), "processor \(processor)")
            #expect(processors.count == count * queues)
        }
        #expect(transport.counts.live == UInt32(2 + processors.count))
    }

    /// A kernel that takes no entries goes on with the device.
    @Test func refusedRingsLeaveTheDevice() {
        let result = Lock<Int32?>(nil)
        let transport = SocketTransport(
            workers: 2,
            initialize: { transport in
                let prepared = Self.prepare(transport)
                result.withLock { $0 = prepared }
                transport.ready()
            })
        defer { transport.end() }
        #expect(eventually { result.withLock { $0 } != nil })
        #expect(result.withLock { $0 } == 0)
        // The socket refuses what they ask, and they end.
        #expect(eventually { transport.counts.live == 2 && transport.counts.idle == 2 })
        #expect(!transport.counts.rings_in_use)
        transport.send(Request(unique: 2))
        #expect(transport.receive() == Reply(unique: 2))
        #expect(transport.ended == nil)
    }

    @Test func ringsThatCannotBeMadeLeaveTheDevice() {
        let result = Lock<Int32?>(nil)
        // No descriptor has this number: the rings cannot take the device among their files.
        let transport = SocketTransport(
            workers: 2, device: 1 << 28,
            serve: { _, request in result.withLock { $0 = Int32(request.unique) } },
            initialize: { transport in
                let prepared = Self.prepare(transport)
                result.withLock { $0 = prepared }
                transport.ready()
            })
        defer { transport.end() }
        #expect(eventually { result.withLock { $0 } != nil })
        #expect(result.withLock { $0 } == -EBADF)
        #expect(eventually { transport.counts.live == 2 && transport.counts.idle == 2 })
        transport.send(Request(unique: 2))
        #expect(eventually { result.withLock { $0 } == 2 })
    }

    @Test func theEndOfItsPreparationIsNoFailure() {
        let result = Lock<Int32?>(nil)
        let transport = SocketTransport(
            workers: 2,
            initialize: { transport in
                transport.stop()
                let prepared = Self.prepare(transport)
                result.withLock { $0 = prepared }
            })
        defer { transport.end() }
        #expect(transport.join() == 0)
        #expect(result.withLock { $0 } == -ECANCELED)
    }

    @Test func stopEndsThreadsThatAreNotYetReady() {
        let result = Lock<Int32?>(nil)
        let transport = SocketTransport(
            workers: 2,
            initialize: { transport in
                let prepared = Self.prepare(transport)
                result.withLock { $0 = prepared }
            })
        defer { transport.end() }
        #expect(eventually { result.withLock { $0 } == 0 })
        transport.stop()
        #expect(transport.join() == 0)
        #expect(transport.counts.live == 0)
    }
}
