import Authorization

/// The layout of `system.posix_acl_access` and `system.posix_acl_default`: the kernel's, integers little-endian.
private enum PosixLayout {
    static let version: UInt32 = 2
    static let headerSize = 4
    static let entrySize = 8

    static let owner: UInt16 = 0x01
    static let user: UInt16 = 0x02
    static let owningGroup: UInt16 = 0x04
    static let group: UInt16 = 0x08
    static let mask: UInt16 = 0x10
    static let other: UInt16 = 0x20
}

extension PosixACL {
    /// Reads the kernel's value.
    ///
    /// - Parameters:
    ///   - bytes: the value; it may be any bytes.
    ///   - groupBits: the group bits of the object's mode; read, write, execute = 4, 2, 1.
    /// - Returns: the list; nil if it says no more than the mode does; `unreadable` if it cannot be parsed.
    public static func decoding(_ bytes: RawSpan, groupBits: UInt16) -> PosixACL? {
        let size = bytes.byteCount - PosixLayout.headerSize
        guard size >= 0, size % PosixLayout.entrySize == 0,
            load(UInt32.self, bytes, 0) == PosixLayout.version
        else { return .unreadable }
        if size == 0 { return nil }
        var list = PosixACL([])
        // The next mandatory entry. Each occurs once, in this order, with named entries between them.
        var next = PosixLayout.owner
        var mask: UInt16?
        for index in 0..<size / PosixLayout.entrySize {
            let place = PosixLayout.headerSize + index * PosixLayout.entrySize
            let tag = load(UInt16.self, bytes, place)
            let permissions = load(UInt16.self, bytes, place + 2)
            let id = load(UInt32.self, bytes, place + 4)
            if permissions > 7 { return .unreadable }
            switch (tag, next) {
            case (PosixLayout.owner, PosixLayout.owner): next = PosixLayout.owningGroup
            case (PosixLayout.user, PosixLayout.owningGroup): list.entries.append(Entry(.user(id), permissions))
            case (PosixLayout.owningGroup, PosixLayout.owningGroup):
                list.entries.append(Entry(.owningGroup, permissions))
                next = PosixLayout.mask
            case (PosixLayout.group, PosixLayout.mask): list.entries.append(Entry(.group(id), permissions))
            case (PosixLayout.mask, PosixLayout.mask): (mask, next) = (permissions, PosixLayout.other)
            case (PosixLayout.other, PosixLayout.mask), (PosixLayout.other, PosixLayout.other): next = 0
            default: return .unreadable
            }
        }
        guard next == 0 else { return .unreadable }
        guard let mask else { return list.entries.count == 1 ? nil : .unreadable }
        // On file systems that are not local the mask may differ from the mode's group bits.
        if mask != groupBits { for index in list.entries.indices { list.entries[index].permissions &= mask } }
        return list
    }
}

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
