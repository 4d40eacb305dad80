import Glibc
import LinuxSystem

/// The directory in which a user's daemons keep grants (docs/decisions/0013-grants.md): root's lies in /var/lib, another user's in the
/// user's state directory.
///
/// `base` is the deepest directory of its path that existed before the mount, held open: a later mount over the path, such as the
/// daemon's own, does not redirect it. The rest is made with the first grant.
package struct GrantPlace: Sendable {
    package let base: SharedDescriptor
    /// The real path of the base.
    package let basePath: String
    private let missing: [String]

    package var path: String { (basePath == "/" ? "" : basePath) + missing.map { "/\($0)" }.joined() }

    /// - Returns: the directory that the environment names.
    /// - Throws: the environment has no home, or the path cannot be opened.
    package static func prepare() throws(Errno) -> GrantPlace { try GrantPlace(at: wanted()) }

    /// The path by the account, not by the environment; nil if the account has no home.
    package static var usual: String? {
        if geteuid() == 0 { return "/var/lib/aclfs/grants" }
        guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
        let path = String(cString: home)
        return path.hasPrefix("/") ? path + "/.local/state/aclfs/grants" : nil
    }

    private static func absolute(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Whether the environment names a state directory.
    package static var isNamed: Bool { absolute("XDG_STATE_HOME") != nil }

    /// - Returns: the path by the environment.
    /// - Throws: `noent` if it has no home.
    package static func wanted() throws(Errno) -> String {
        if geteuid() == 0 { return "/var/lib/aclfs/grants" }
        if let state = absolute("XDG_STATE_HOME") { return state + "/aclfs/grants" }
        guard let home = absolute("HOME") else { throw .noent }
        return home + "/.local/state/aclfs/grants"
    }

    /// - Parameter path: absolute.
    /// - Throws: an existing part of the path cannot be opened.
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

    /// Opens the directory.
    /// - Parameter create: whether to make what is missing.
    /// - Returns: nil if it does not exist.
    /// - Throws: `perm` if another user could write to it.
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

    /// Opens the directory with any owner and mode, and makes it if it is missing.
    /// - Returns: nil if it is missing and the caller cannot make it, even with changed modes.
    /// - Throws: the caller could make it, but this attempt failed.
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
                    // The directory belongs to root, but a thread of the daemon may have the restricted fsuid.
                    try FileSystemUser.asRoot { () throws(Errno) in
                        try Syscall.mkdirat(here.rawValue, name, mode: mode(ofMissing: index))
                    }
                } catch {
                    let isOwn = try Syscall.statx(here.rawValue, flags: AtFlag.dontSync).uid == geteuid()
                    switch error {
                    case .exist: break
                    case .rofs, .noent: return nil
                    case .acces, .perm:
                        // The caller may not write to it, but could rename it away and make another.
                        if !isOwn, geteuid() == 0 || Self.isBarred(path) { return nil } else { throw error }
                    default: throw error
                    }
                }
                here = try next()
            }
        }
        return here
    }

    /// Other users may see that grants exist, not which.
    private func mode(ofMissing index: Int) -> UInt32 { geteuid() == 0 && index < missing.count - 1 ? 0o755 : 0o700 }
}
