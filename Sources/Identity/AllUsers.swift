import Glibc
import LinuxSystem

extension AccountDatabase {
    /// getpwent(3) keeps its place for the whole process.
    private static let enumeration = Lock(())

    /// Every user that the databases are willing to enumerate; network directories often are not.
    public static func allUsers() -> [User] {
        enumeration.withLock { _ in
            var users: [User] = []
            setpwent()
            defer { endpwent() }
            while let entry = getpwent() {
                guard let name = entry.pointee.pw_name else { continue }
                users.append(User(name: String(cString: name), uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid))
            }
            return users
        }
    }
}
