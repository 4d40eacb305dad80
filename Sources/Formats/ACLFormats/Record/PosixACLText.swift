import Authorization

extension PosixACL.Entry {
    /// As getfacl(1) writes it, e.g. `user:carol:rw-`; an unknown name is a number.
    public func text(names: some IdentityNames) -> String {
        func name(_ guid: GUID, _ id: UInt32) -> String { names.name(of: guid).map { escapedName($0.name.utf8) } ?? String(id) }
        let whom =
            switch subject {
            case .owningGroup: "group:"
            case .user(let uid): "user:" + name(GUID(user: uid), uid)
            case .group(let gid): "group:" + name(GUID(group: gid), gid)
            }
        return "\(whom):\(Self.letters(permissions))"
    }

    /// `rw-` for 6.
    public static func letters(_ bits: UInt16) -> String {
        String([(UInt16(4), Character("r")), (2, "w"), (1, "x")].map { bits & $0.0 != 0 ? $0.1 : "-" })
    }
}
