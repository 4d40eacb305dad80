import Authorization

extension PosixACL {
    /// Reads the kernel's value of a backing object. What any file system may hold is read: ids may occur twice.
    ///
    /// - Parameters:
    ///   - bytes: the value; it may be any bytes.
    ///   - groupBits: the group bits of the object's mode; read, write, execute = 4, 2, 1.
    /// - Returns: the list; nil if it says no more than the mode does; `unreadable` if it cannot be parsed.
    public static func decoding(_ bytes: RawSpan, groupBits: UInt16) -> PosixACL? {
        var list = PosixACL([])
        // The next mandatory entry. Each occurs once, in this order, with named entries between them.
        var next: PosixWireEntry.Tag? = .owner
        var mask: UInt16?
        do throws(PosixWireError) {
            try PosixWire.forEachEntry(bytes) { (index, entry) throws(PosixWireError) in
                switch (entry.tag, next) {
                case (.owner, .owner): next = .owningGroup
                case (.user, .owningGroup): list.entries.append(Entry(.user(entry.id), entry.permissions))
                case (.owningGroup, .owningGroup):
                    list.entries.append(Entry(.owningGroup, entry.permissions))
                    next = .mask
                case (.group, .mask): list.entries.append(Entry(.group(entry.id), entry.permissions))
                case (.mask, .mask): (mask, next) = (entry.permissions, .other)
                case (.other, .mask), (.other, .other): next = nil
                default: throw .order(entry.tag, at: index)
                }
            }
        } catch { return .unreadable }
        if bytes.byteCount == PosixWire.headerSize { return nil }
        guard next == nil else { return .unreadable }
        guard let mask else { return list.entries.count == 1 ? nil : .unreadable }
        // On file systems that are not local the mask may differ from the mode's group bits.
        if mask != groupBits { for index in list.entries.indices { list.entries[index].permissions &= mask } }
        return list
    }
}

extension PosixList {
    /// The list of a backing object that has one of its own (docs/reference/authorization.md Q22).
    /// - Returns: nil if it is unreadable, or names an id twice.
    public init?(_ own: PosixACL, mode: FileMode) {
        var entries = [PosixWireEntry(.owner, mode.rawValue >> 6 & 7)]
        for entry in own.entries {
            switch entry.subject {
            case .user(let uid): entries.append(PosixWireEntry(.user, entry.permissions, id: uid))
            case .owningGroup: entries.append(PosixWireEntry(.owningGroup, entry.permissions))
            case .group(let gid): entries.append(PosixWireEntry(.group, entry.permissions, id: gid))
            }
        }
        entries.append(PosixWireEntry(.mask, mode.rawValue >> 3 & 7))
        entries.append(PosixWireEntry(.other, mode.rawValue & 7))
        guard let list = try? PosixList(entries) else { return nil }
        self = list
    }
}
