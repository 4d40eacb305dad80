import Glibc
import LinuxSystem

/// The system's user and group databases, through NSS: files, LDAP, sssd, each service that nsswitch.conf names.
///
/// A look-up returns nil if the databases say that there is no such account. It throws if a database did not answer. A look-up may
/// block on the network: never hold a lock across one.
public enum AccountDatabase {
    /// An account of a user.
    public struct User: Hashable, Sendable {
        public var name: String
        public var uid: UInt32
        /// The group of the user's first process at login.
        public var gid: UInt32
        public init(name: String, uid: UInt32, gid: UInt32) { (self.name, self.uid, self.gid) = (name, uid, gid) }
    }

    /// A group.
    public struct Group: Hashable, Sendable {
        public var name: String
        public var gid: UInt32
        public init(name: String, gid: UInt32) { (self.name, self.gid) = (name, gid) }
    }

    /// - Throws: the error of the database that did not answer.
    public static func user(named name: String) throws(Errno) -> User? {
        try lookUp { buffer, size in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwnam_r(name, &entry, buffer, size, &found)
            return (code, found == nil ? nil : User(entry))
        }
    }

    /// - Throws: the error of the database that did not answer.
    public static func user(uid: UInt32) throws(Errno) -> User? { try user(uid: uid, .asManualPages) }

    private static func user(uid: UInt32, _ reading: Reading) throws(Errno) -> User? {
        try lookUp(reading) { buffer, size in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwuid_r(uid, &entry, buffer, size, &found)
            return (code, found == nil ? nil : User(entry))
        }
    }

    /// - Throws: the error of the database that did not answer.
    public static func group(named name: String) throws(Errno) -> Group? {
        try lookUp { buffer, size in
            var entry = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let code = getgrnam_r(name, &entry, buffer, size, &found)
            return (code, found == nil ? nil : Group(entry))
        }
    }

    /// - Throws: the error of the database that did not answer.
    public static func group(gid: UInt32) throws(Errno) -> Group? { try group(gid: gid, .asManualPages) }

    private static func group(gid: UInt32, _ reading: Reading) throws(Errno) -> Group? {
        try lookUp(reading) { buffer, size in
            var entry = Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let code = getgrgid_r(gid, &entry, buffer, size, &found)
            return (code, found == nil ? nil : Group(entry))
        }
    }

    /// The groups that a login of the user would have, `gid` among them. A database that does not answer adds none: getgrouplist(3)
    /// does not report it.
    public static func groups(ofUser name: String, gid: UInt32) -> [UInt32] {
        var count: Int32 = 64
        while true {
            var groups = [UInt32](repeating: 0, count: Int(count))
            let room = count
            if getgrouplist(name, gid, &groups, &count) >= 0 { return Array(groups.prefix(Int(count))) }
            // The loop ends only if the count grows, and getgrouplist(3) does not promise that.
            count = max(count, room * 2)
        }
    }

    /// The groups of the user with this uid, the login group among them; none without an account.
    ///
    /// getgrouplist(3) skips a database that does not answer. A look-up of an unused gid asks all of them, so that an incomplete
    /// list is an error and not "not a member".
    ///
    /// - Throws: the error of a database that did not answer.
    public static func groups(ofUser uid: UInt32) throws(Errno) -> [UInt32] {
        guard let user = try user(uid: uid, .strictly) else { return [] }
        let list = groups(ofUser: user.name, gid: user.gid)
        _ = try group(gid: unusedGroup, .strictly)
        return list
    }

    /// How the error code of a look-up is read.
    private enum Reading {
        /// Some codes mean "not found", as in getpwnam(3).
        case asManualPages
        /// Each code means that the last service did not answer. glibc reports "not found" without a code.
        case strictly
    }

    /// -3; -1 and -2 have meanings of their own.
    private static let unusedGroup: UInt32 = 0xFFFF_FFFD

    /// The codes by which databases say "not found", according to getpwnam(3).
    private static let absentCodes: [Int32] = [ENOENT, ESRCH, EBADF, EPERM]

    private static func lookUp<Record>(
        _ reading: Reading = .asManualPages, _ ask: (UnsafeMutablePointer<CChar>, Int) -> (code: Int32, record: Record?)
    ) throws(Errno) -> Record? {
        var size = 1024
        while true {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let (code, record) = ask(buffer, size)
            switch code {
            case 0: return record
            case ERANGE: size *= 4
            case EINTR: continue
            default:
                if reading == .asManualPages, absentCodes.contains(code) { return nil }
                throw Errno(rawValue: code)
            }
        }
    }
}

extension AccountDatabase.User {
    fileprivate init(_ entry: passwd) {
        self.init(name: entry.pw_name.map { String(cString: $0) } ?? "", uid: entry.pw_uid, gid: entry.pw_gid)
    }
}

extension AccountDatabase.Group {
    fileprivate init(_ entry: Glibc.group) {
        self.init(name: entry.gr_name.map { String(cString: $0) } ?? "", gid: entry.gr_gid)
    }
}
