import Glibc
import LinuxSystem

extension AccountDatabase {
    /// getpwent(3) has one position for the whole process.
    private static let enumeration = Lock(())

    /// Every user that the databases enumerate. Network directories often enumerate none.
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
