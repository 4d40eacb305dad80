import Glibc
import LinuxSystem
import TestSupport

@testable import FuseSession

/// A root directory with one file, "hello".
final class HelloHandler: RequestHandler, @unchecked Sendable {
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
        while !interruption.hasArrived { usleep(1000) }
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
