import Glibc
import LinuxSystem

/// What the administrator lets users of FUSE do.
package enum FuseConfiguration {
    /// Why this user cannot use /dev/fuse, and what helps; nil if nothing is in the way.
    package static var deviceObstacle: (error: Errno, remedy: String)? {
        if access("/dev/fuse", R_OK | W_OK) == 0 { return nil }
        let error = Errno(rawValue: errno)
        switch error {
        case .noent: return (error, "load the module fuse (modprobe fuse), or give the container the device")
        case .acces: return (error, "its mode has to let this user read and write it (chmod 0666 /dev/fuse)")
        default: return (error, "is the module fuse loaded?")
        }
    }

    /// Whether /etc/fuse.conf has the line user_allow_other, in the form that fusermount3 reads.
    package static var othersAreAllowed: Bool {
        guard let file = try? Syscall.open("/etc/fuse.conf", OpenFlag.readOnly),
            let text = try? Syscall.readAll(file.rawValue)
        else { return false }
        return text.split(separator: UInt8(ascii: "\n")).contains { line in
            String(decoding: line, as: UTF8.self).split(whereSeparator: { $0 == " " || $0 == "\t" }) == [
                "user_allow_other"
            ]
        }
    }
}
