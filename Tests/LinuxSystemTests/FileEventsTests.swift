import Glibc
import Testing

@testable import LinuxSystem

@Suite("events of single objects", .enabled(if: getuid() == 0, "marks without a limit need root"))
struct FileEventsTests {
    private func received(_ events: FileEvents) -> [FileEvents.Event] {
        var all: [FileEvents.Event] = []
        withUnsafeTemporaryAllocation(byteCount: 32 << 10, alignment: 16) { room in events.awaitEvents(in: room) { all.append($0) } }
        return all
    }

    @Test("one wait takes all that the kernel has")
    func all() throws {
        let directory = try TemporaryDirectory()
        let events = try FileEvents()
        let count = 1500
        for number in 0..<count {
            let file = try directory.file("\(number)")
            try events.add(file.rawValue, isDirectory: false)
            try Syscall.fchmod(file.rawValue, mode: 0o600)
        }
        // A process that another test is about to start has the descriptors for a moment, and closes them.
        let own = received(events).filter { $0.kinds.contains(.attributes) && $0.process == getpid() }
        #expect(Set(own.compactMap { $0.handle?.number }).count == count)
    }

    @Test("what is not marked any more causes no event, and a wait ends when it is woken")
    func removed() throws {
        let directory = try TemporaryDirectory()
        let events = try FileEvents()
        let file = try directory.file("file")
        try events.add(file.rawValue, isDirectory: false)
        try events.remove(file.rawValue, isDirectory: false)
        try Syscall.fchmod(file.rawValue, mode: 0o600)
        events.wake()
        #expect(received(events).isEmpty)
    }
}
