import Glibc
import LinuxSystem
import Synchronization
import Testing

@Suite("who has a file open for writing")
struct WritersTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    /// That does not count as open.
    private func place() throws -> SharedDescriptor {
        let file = try directory.file("f", "hello")
        return SharedDescriptor(try Syscall.reopen(file.rawValue, OpenFlag.path))
    }

    @Test("a descriptor that can write is noticed, one that reads is not")
    func noticed() throws {
        let place = try place()
        let reading = SharedDescriptor(try Syscall.reopen(place.rawValue, OpenFlag.readOnly))
        #expect(try !Syscall.isOpenForWriting(place.rawValue))
        let writing = SharedDescriptor(try Syscall.reopen(place.rawValue, OpenFlag.writeOnly))
        #expect(try Syscall.isOpenForWriting(place.rawValue))
        withExtendedLifetime((reading, writing)) {}
    }

    /// It is asked by a lease, and a lease refuses whoever opens for writing and does not wait.
    @Test("opening for writing is not refused while other threads ask")
    func openingWhileAsked() throws {
        let place = try place()
        let isOver = Shared(false)
        for _ in 0..<2 {
            _ = try Thread.start(name: "asking") {
                while !isOver.value.load(ordering: .relaxed) { _ = try? Syscall.isOpenForWriting(place.rawValue) }
            }
        }
        defer { isOver.value.store(true, ordering: .relaxed) }
        var refused = 0
        for _ in 0..<20_000 {
            do { _ = try Syscall.reopen(place.rawValue, OpenFlag.readWrite | OpenFlag.nonBlock) } catch { refused += 1 }
        }
        #expect(refused == 0)
    }

    /// Seen by several threads.
    private final class Shared: Sendable {
        let value: Atomic<Bool>
        init(_ value: Bool) { self.value = Atomic(value) }
    }
}
