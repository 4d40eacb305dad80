import LinuxSystem
import Testing

/// fstab(5), as far as commands ask for what lies behind a mount point.
struct FstabTests {
    private func source(_ mountpoint: String, _ text: String) -> String? {
        Fstab.source(of: Array(mountpoint.utf8), in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func mountPointsOfAclfsHaveASource() {
        let text = """
            # /srv/none /srv/comment aclfs defaults 0 0
            /dev/vda1 / ext4 defaults 0 1
            /srv/back\t/srv/share\taclfs noauto 0 0
            /srv/a\\040b/ /srv/c\\040d/ fuse.aclfs defaults
            aclfs#/srv/old /srv/new fuse defaults 0 0
            bindfs#/srv/old /srv/bind fuse defaults 0 0
            /srv/over /srv/over aclfs
            short /srv/short
            """
        #expect(source("/srv/share", text) == "/srv/back")
        #expect(source("/srv/c d", text) == "/srv/a b")
        #expect(source("/srv/new", text) == "/srv/old")
        #expect(source("/srv/over", text) == "/srv/over")
        for none in ["/", "/srv/comment", "/srv/bind", "/srv/short", "/srv", "/srv/back"] { #expect(source(none, text) == nil, "\(none)") }
    }
}
