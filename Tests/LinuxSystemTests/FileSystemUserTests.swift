import LinuxSystem
import Testing

@Suite struct FileSystemUserTests {
    @Test func serversAreAskedAsRoot() {
        for type in [FileSystemType.nfs, FileSystemType.ceph, FileSystemType.fuse, FileSystemType.ninePFS, 0xFF53_4D42] {
            #expect(FileSystemUser.isJudgedByServer(fileSystemType: type))
        }
        for type in [FileSystemType.ext4, FileSystemType.xfs, FileSystemType.btrfs, FileSystemType.tmpfs, FileSystemType.overlay] {
            #expect(!FileSystemUser.isJudgedByServer(fileSystemType: type))
        }
    }

    @Test func withoutARestrictionTheScopeOnlyActs() throws {
        let before = FileSystemUser.current
        #expect(FileSystemUser.restrictedID == nil)
        #expect(try FileSystemUser.asRoot { () throws(Errno) in FileSystemUser.current } == before)
        #expect(throws: Errno.nospc) { try FileSystemUser.asRoot { () throws(Errno) -> Int in throw .nospc } }
    }
}
