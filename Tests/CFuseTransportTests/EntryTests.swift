import CFuseTransport
import Glibc
import Testing
import TransportHarness

/// Memory of an entry, as the kernel and a thread share it.
final class EntryMemory {
    let entry: ring_entry
    let room: Int
    private let memory: UnsafeMutableRawPointer
    private static let page = Int(ENTRY_PAGE)

    init(room: Int) {
        self.room = room
        let size = entry_memory_size(room)
        memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4096)
        // What lies behind a message must not be part of it.
        memset(memory, 0xee, size)
        entry = ring_entry(memory: memory.assumingMemoryBound(to: CChar.self), payload_size: room)
    }

    deinit { memory.deallocate() }

    var headers: wire_ring_headers {
        get { memory.load(as: wire_ring_headers.self) }
        set { memory.storeBytes(of: newValue, as: wire_ring_headers.self) }
    }

    var payload: UnsafeMutableRawPointer { memory + Self.page }

    /// Lays a request there as the kernel does, in three parts.
    func put(
        _ header: wire_in_header, fixed: [UInt8], payload bytes: [UInt8], payloadSize: Int? = nil, commit: UInt64 = 0
    ) {
        var headers = wire_ring_headers()
        withUnsafeMutableBytes(of: &headers.in_out) { $0.storeBytes(of: header, as: wire_in_header.self) }
        withUnsafeMutableBytes(of: &headers.fixed) { $0.copyBytes(from: fixed.prefix($0.count)) }
        headers.entry.payload_size = UInt32(payloadSize ?? bytes.count)
        headers.entry.commit_id = commit
        self.headers = headers
        payload.copyMemory(from: bytes, byteCount: bytes.count)
    }

    /// The message in one piece; nothing if it makes no sense.
    var message: [UInt8]? {
        withUnsafePointer(to: entry) { entry in
            let message = aclfs_entry_message(entry)
            return message.size == 0 ? nil : Array(UnsafeRawBufferPointer(start: message.start, count: message.size))
        }
    }

    /// 0 or -errno.
    func put(_ parts: [UnsafeMutableRawBufferPointer]) -> Int32 {
        let parts = parts.map { iovec(iov_base: $0.baseAddress, iov_len: $0.count) }
        return withUnsafePointer(to: entry) { aclfs_entry_put_reply($0, parts, Int32(parts.count)) }
    }

    /// What the kernel finds there.
    var reply: Reply? {
        var headers = headers
        let size = Int(headers.entry.payload_size)
        return withUnsafeBytes(of: &headers.in_out) { header in
            let bytes =
                Array(header.prefix(MemoryLayout<wire_out_header>.size))
                + Array(UnsafeRawBufferPointer(start: payload, count: size))
            return bytes.withUnsafeBytes { Reply($0) }
        }
    }
}

private func header(fixed: Int, payload: Int) -> wire_in_header {
    var header = wire_in_header()
    header.len = UInt32(MemoryLayout<wire_in_header>.size + fixed + payload)
    header.opcode = 35
    header.unique = 0x1122_3344_5566_7788
    header.nodeid = 9
    return header
}

private func bytes(of header: wire_in_header) -> [UInt8] { withUnsafeBytes(of: header) { Array($0) } }

/// How requests and replies lie in the memory that a ring shares with the kernel: no ring is needed.
struct EntryTests {
    @Test(arguments: [(0, 0), (8, 0), (0, 12), (16, 300), (128, 8192)])
    func theThreePartsOfARequestBecomeOne(_ fixed: Int, _ payload: Int) {
        let memory = EntryMemory(room: 8192)
        let header = header(fixed: fixed, payload: payload)
        let first = (0..<fixed).map { UInt8($0 + 1) }
        let second = (0..<payload).map { UInt8(truncatingIfNeeded: $0 * 3) }
        memory.put(header, fixed: first, payload: second)
        #expect(memory.message == bytes(of: header) + first + second)
    }

    @Test func theRequestIsNotMovedButItsHeadersAre() {
        let memory = EntryMemory(room: 8192)
        memory.put(header(fixed: 16, payload: 5), fixed: Array(repeating: 1, count: 16), payload: Array("name\0".utf8))
        withUnsafePointer(to: memory.entry) { entry in
            #expect(aclfs_entry_message(entry).start + 40 + 16 == memory.payload)
        }
    }

    /// The library takes names as strings, and reads on until one ends.
    @Test(arguments: [3, 4095, 4096]) func aStringEndsWithThePayload(_ length: Int) {
        let memory = EntryMemory(room: 4096)
        memory.put(
            header(fixed: 0, payload: length), fixed: [], payload: Array(repeating: UInt8(ascii: "n"), count: length))
        #expect(memory.message?.count == 40 + length)
        #expect(memory.payload.load(fromByteOffset: length, as: UInt8.self) == 0)
    }

    @Test func aRequestThatMakesNoSenseIsNone() {
        let memory = EntryMemory(room: 4096)
        // A fixed part that is longer than there is room for.
        memory.put(header(fixed: 129, payload: 0), fixed: Array(repeating: 1, count: 128), payload: [])
        #expect(memory.message == nil)
        // More payload than the entry holds.
        memory.put(header(fixed: 0, payload: 4097), fixed: [], payload: [], payloadSize: 4097)
        #expect(memory.message == nil)
        // A length that does not reach to the end of its parts.
        var short = header(fixed: 0, payload: 9)
        memory.put(short, fixed: [], payload: [], payloadSize: 10)
        #expect(memory.message == nil)
        short.len = 39
        memory.put(short, fixed: [], payload: [])
        #expect(memory.message == nil)
        short.len = 0
        memory.put(short, fixed: [], payload: [])
        #expect(memory.message == nil)
        short.len = UInt32.max
        memory.put(short, fixed: [], payload: [])
        #expect(memory.message == nil)
        memory.put(header(fixed: 0, payload: 0), fixed: [], payload: [], payloadSize: Int(UInt32.max))
        #expect(memory.message == nil)
    }

    @Test func aReplyLiesInItsPlaces() {
        let memory = EntryMemory(room: 4096)
        let reply = Reply(unique: 77, body: Array(1...200))
        let result = reply.withParts { parts, count in
            withUnsafePointer(to: memory.entry) { aclfs_entry_put_reply($0, parts, count) }
        }
        #expect(result == 0)
        #expect(memory.reply == reply)
    }

    @Test func thePartsOfAReplyLieBehindEachOther() {
        let memory = EntryMemory(room: 6)
        let reply = Reply(unique: 77, body: [1, 2, 3, 4, 5, 6])
        var first: [UInt8] = [1, 2]
        var second: [UInt8] = [3, 4, 5, 6]
        let result = reply.withParts { parts, _ in
            first.withUnsafeMutableBytes { first in
                second.withUnsafeMutableBytes { second in
                    memory.put([UnsafeMutableRawBufferPointer(start: parts[0].iov_base, count: 16), first, second])
                }
            }
        }
        #expect(result == 0)
        #expect(memory.reply == reply)
    }

    @Test func aReplyWithoutABodyHasNoPayload() {
        let memory = EntryMemory(room: 4096)
        memory.put(header(fixed: 0, payload: 50), fixed: [], payload: Array(repeating: 1, count: 50))
        let reply = Reply(unique: 77, error: -ENOENT)
        let result = reply.withParts { parts, count in
            withUnsafePointer(to: memory.entry) { aclfs_entry_put_reply($0, parts, count) }
        }
        #expect(result == 0)
        #expect(memory.headers.entry.payload_size == 0)
        #expect(memory.reply == reply)
    }

    @Test func aReplyThatIsTooLongIsRefused() {
        let memory = EntryMemory(room: 100)
        for (size, result) in [(100, 0), (101, -EINVAL)] {
            let reply = Reply(unique: 77, body: Array(repeating: 1, count: size))
            #expect(
                reply.withParts { parts, count in
                    withUnsafePointer(to: memory.entry) { aclfs_entry_put_reply($0, parts, count) }
                } == result)
        }
        var halves = [UInt8](repeating: 1, count: 51)
        let result = Reply(unique: 77).withParts { parts, _ in
            halves.withUnsafeMutableBytes {
                memory.put([UnsafeMutableRawBufferPointer(start: parts[0].iov_base, count: 16), $0, $0])
            }
        }
        #expect(result == -EINVAL)
    }

    /// A name that is sent back lies where it came in.
    @Test func whatIsSentBackMayLieInTheRequest() {
        let memory = EntryMemory(room: 4096)
        let text = (0..<100).map { UInt8($0) }
        memory.put(header(fixed: 0, payload: 100), fixed: [], payload: text)
        let result = Reply(unique: 77).withParts { parts, _ in
            (parts[0].iov_base?.assumingMemoryBound(to: wire_out_header.self))?.pointee.len = 16 + 90
            return memory.put([
                UnsafeMutableRawBufferPointer(start: parts[0].iov_base, count: 16),
                UnsafeMutableRawBufferPointer(start: memory.payload + 10, count: 90),
            ])
        }
        #expect(result == 0)
        #expect(memory.reply == Reply(unique: 77, body: Array(text.dropFirst(10))))
    }

    @Test func theKernelsNumberIsRead() {
        let number: UInt64 = 0xfedc_ba98_7654_3210
        let memory = EntryMemory(room: 4096)
        memory.put(header(fixed: 0, payload: 0), fixed: [], payload: [], commit: number)
        #expect(withUnsafePointer(to: memory.entry) { aclfs_entry_commit_id($0) } == number)
    }
}
