import Glibc
import LinuxSystem

/// The directory in which a user's daemons keep grants (docs/decisions/0013-grants.md): root's in /var/lib, another user's
/// in his own state directory.
///
/// It is held by the deepest directory that is there before anything is mounted: a mount that covers its path later, the
/// daemon's own perhaps, does not lead it elsewhere. It is made when there is something to keep.
package struct GrantPlace: Sendable {
    package let base: SharedDescriptor
    /// Of the base.
    package let basePath: String
    private let missing: [String]

    package var path: String { (basePath == "/" ? "" : basePath) + missing.map { "/\($0)" }.joined() }

    package static func prepare() throws(Errno) -> GrantPlace { try GrantPlace(at: wanted()) }

    /// By the account, whatever the environment says; nil if it has no home.
    package static var usual: String? {
        if geteuid() == 0 { return "/var/lib/aclfs/grants" }
        guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
        let path = String(cString: home)
        return path.hasPrefix("/") ? path + "/.local/state/aclfs/grants" : nil
    }

    private static func absolute(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Whether the environment names one besides a home.
    package static var isNamed: Bool { absolute("XDG_STATE_HOME") != nil }

    /// By the environment.
    package static func wanted() throws(Errno) -> String {
        if geteuid() == 0 { return "/var/lib/aclfs/grants" }
        if let state = absolute("XDG_STATE_HOME") { return state + "/aclfs/grants" }
        guard let home = absolute("HOME") else { throw .noent }
        return home + "/.local/state/aclfs/grants"
    }

    package init(at path: String) throws(Errno) {
        var there = path.split(separator: "/").map(String.init)
        var missing: [String] = []
        while true {
            let directory = "/" + there.joined(separator: "/")
            do throws(Errno) {
                let found = SharedDescriptor(try Syscall.open(directory, OpenFlag.path | OpenFlag.directory))
                let real = try MountPath.real(directory)
                (base, basePath, self.missing) = (found, real, missing)
                return
            } catch {
                guard error == .noent, let name = there.popLast() else { throw error }
                missing.insert(name, at: 0)
            }
        }
    }

    /// nil if there is none yet.
    /// - Throws: `perm` if somebody else could write there.
    package func directory(create: Bool) throws(Errno) -> SharedDescriptor? {
        var here = base
        for (index, name) in missing.enumerated() {
            if create {
                do { try Syscall.mkdirat(here.rawValue, name, mode: mode(ofMissing: index)) } catch {
                    if error != .exist { throw error }
                }
            }
            do throws(Errno) {
                let next = try Syscall.openat(here.rawValue, name, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow)
                here = SharedDescriptor(next)
            } catch {
                if error == .noent, !create { return nil }
                throw error
            }
        }
        let directory = SharedDescriptor(
            try Syscall.openat(here.rawValue, ".", OpenFlag.readOnly | OpenFlag.directory))
        let status = try Syscall.statx(directory.rawValue)
        guard status.uid == geteuid(), status.mode & 0o022 == 0 else { throw .perm }
        return directory
    }

    /// Whatever its owner and mode, which the owner can change.
    /// - Returns: nil if it is missing and this user cannot make it, whatever modes he changes.
    package func made() throws(Errno) -> SharedDescriptor? {
        var here = base
        for (index, name) in missing.enumerated() {
            func next() throws(Errno) -> SharedDescriptor {
                SharedDescriptor(
                    try Syscall.openat(here.rawValue, name, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow))
            }
            do throws(Errno) { here = try next() } catch {
                guard error == .noent else { throw error }
                do throws(Errno) {
                    // Whoever asks for it, it is root's: a thread of the daemon may be nobody for file systems.
                    try FileSystemUser.asRoot { () throws(Errno) in
                        try Syscall.mkdirat(here.rawValue, name, mode: mode(ofMissing: index))
                    }
                } catch {
                    let isHis = try Syscall.statx(here.rawValue, flags: AtFlag.dontSync).uid == geteuid()
                    switch error {
                    case .exist: break
                    case .rofs, .noent: return nil
                    case .acces, .perm:
                        // Unless he could move what he may not write to, and make all of it anew.
                        if !isHis, geteuid() == 0 || Self.isBarred(path) { return nil } else { throw error }
                    default: throw error
                    }
                }
                here = try next()
            }
        }
        return here
    }

    /// What others may know is that there are grants, not of what.
    private func mode(ofMissing index: Int) -> UInt32 { geteuid() == 0 && index < missing.count - 1 ? 0o755 : 0o700 }
}
