import Foundation
import LinuxSystem
import Testing

@testable import ACLFileSystem
@testable import BackingStore

/// A mapping that outlives its handle is known as long as it is there, however many files were closed since.
@Suite struct RemainingMappingTests {
    private func key(_ inode: UInt64) -> ObjectKey { ObjectKey(device: 1, inode: inode, handle: nil) }

    @Test func noneIsForgotten() throws {
        var template = Array("/tmp/aclfs-mapping.XXXXXX".utf8CString)
        let made = mkstemp(&template)
        try #require(made >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(path) }
        ftruncate(made, 4096)
        let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0)
        try #require(memory != MAP_FAILED)
        close(made)
        let file = try Syscall.open(path, OpenFlag.path)

        var left = RemainingMappings(remembering: 2)
        func isLeft() -> Bool { left.confirmMapped(key(1), file.rawValue) }
        #expect(left.count == 0 && !isLeft(), "nobody asks of a file that never was left")
        left.insert(key(1))
        #expect(isLeft())
        for other in 2..<20 { left.insert(key(UInt64(other))) }
        #expect(left.count > 0 && isLeft(), "after more closes than are remembered")
        munmap(memory, 4096)
        #expect(!isLeft())
        // Opened for writing by somebody else, who is no mapping of ours: not asked again.
        let again = try Syscall.open(path, OpenFlag.readWrite)
        #expect(!isLeft())
        // But after it was open here once more.
        left.insert(key(1))
        for other in 20..<40 { left.insert(key(UInt64(other))) }
        #expect(isLeft())
        withExtendedLifetime(again) {}
    }
}
