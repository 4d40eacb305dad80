import ACLFormats
import Authorization
import Glibc

/// Names as the system's user and group databases have them. Answers are kept: a tree names the same few
/// identities again and again.
public final class SystemNames: IdentityNames {
    private var identities: [IdentityName: UInt32?] = [:]
    private var names: [GUID: String?] = [:]

    public init() {}

    public func identity(named name: String, kind: IdentityKind?) -> GUID? {
        if kind != .group, let uid = number(IdentityName(.user, name)) { return GUID(user: uid) }
        if kind != .user, let gid = number(IdentityName(.group, name)) { return GUID(group: gid) }
        return nil
    }

    public func name(of identity: GUID) -> IdentityName? {
        switch Principal(identity) {
        case .user(let uid):
            known(identity) {
                entry {
                    getpwuid_r(uid, $0, $1, $2, $3)
                } read: {
                    $0.pw_name
                }
            }
            .map { IdentityName(.user, $0) }
        case .group(let gid):
            known(identity) {
                entry {
                    getgrgid_r(gid, $0, $1, $2, $3)
                } read: {
                    $0.gr_name
                }
            }
            .map { IdentityName(.group, $0) }
        case .everyone, .owner, .owningGroup, .nobody, .other: nil
        }
    }

    private func known(_ identity: GUID, _ ask: () -> String?) -> String? {
        if let known = names[identity] { return known }
        let answer = ask()
        names[identity] = .some(answer)
        return answer
    }

    private func number(_ name: IdentityName) -> UInt32? {
        if let known = identities[name] { return known }
        let answer: UInt32? =
            switch name.kind {
            case .user:
                entry {
                    getpwnam_r(name.name, $0, $1, $2, $3)
                } read: {
                    $0.pw_uid
                }
            case .group:
                entry {
                    getgrnam_r(name.name, $0, $1, $2, $3)
                } read: {
                    $0.gr_gid
                }
            }
        identities[name] = .some(answer)
        return answer
    }

    private func entry<Value>(
        _ ask: (
            UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
        ) -> Int32, read: (passwd) -> Value
    ) -> Value? {
        growing(passwd(), ask, read)
    }

    private func entry<Value>(
        _ ask: (
            UnsafeMutablePointer<group>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<group>?>
        ) -> Int32, read: (group) -> Value
    ) -> Value? {
        growing(group(), ask, read)
    }

    private func entry(
        _ ask: (
            UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
        ) -> Int32, read: (passwd) -> UnsafeMutablePointer<CChar>?
    ) -> String? {
        growing(passwd(), ask) { read($0).map { String(cString: $0) } } ?? nil
    }

    private func entry(
        _ ask: (
            UnsafeMutablePointer<group>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<group>?>
        ) -> Int32, read: (group) -> UnsafeMutablePointer<CChar>?
    ) -> String? {
        growing(group(), ask) { read($0).map { String(cString: $0) } } ?? nil
    }

    /// Groups with thousands of members need more room than sysconf(3) says: try again with more.
    private func growing<Entry, Value>(
        _ empty: Entry,
        _ ask: (
            UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
        ) -> Int32, _ read: (Entry) -> Value
    ) -> Value? {
        var entry = empty
        var room = 4096
        while room <= 1 << 24 {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: room)
            defer { buffer.deallocate() }
            var found: UnsafeMutablePointer<Entry>?
            switch ask(&entry, buffer, room, &found) {
            case 0: return found.map { read($0.pointee) }
            case ERANGE: room *= 4
            case EINTR: continue
            default: return nil
            }
        }
        return nil
    }
}
