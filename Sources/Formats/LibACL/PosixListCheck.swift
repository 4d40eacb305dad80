import CACL
import WireFormats

/// libacl's view of a POSIX ACL, for lists that a caller sets: libacl decides whether a list is valid, and writes it as text.
public struct PosixListCheck: ~Copyable {
    private var list: acl_t?

    /// - Returns: nil if libacl has no memory.
    public init?(_ entries: [PosixWireEntry]) {
        guard let list = acl_init(Int32(truncatingIfNeeded: entries.count)) else { return nil }
        self.list = list
        for entry in entries where !add(entry) { return nil }
    }

    deinit { if let list { acl_free(UnsafeMutableRawPointer(list)) } }

    private mutating func add(_ entry: PosixWireEntry) -> Bool {
        var place: acl_entry_t?
        var permissions: acl_permset_t?
        guard acl_create_entry(&list, &place) == 0, let place, acl_set_tag_type(place, Self.tag(entry.tag)) == 0,
            acl_get_permset(place, &permissions) == 0, let permissions
        else { return false }
        for (bit, permission) in [(UInt16(4), ACL_READ), (2, ACL_WRITE), (1, ACL_EXECUTE)] where entry.permissions & bit != 0 {
            if acl_add_perm(permissions, acl_perm_t(permission)) != 0 { return false }
        }
        var id = entry.id
        return !entry.tag.isNamed || acl_set_qualifier(place, &id) == 0
    }

    private static func tag(_ tag: PosixWireEntry.Tag) -> acl_tag_t { acl_tag_t(tag.rawValue) }

    /// Why libacl calls the list invalid, in its words; nil: it is valid. libacl sorts entries, so an order is never wrong to it.
    public var problem: String? {
        var last: Int32 = 0
        switch acl_check(list, &last) {
        case 0: return nil
        case let code where code > 0: return acl_error(code).map { String(cString: $0) } ?? "invalid"
        default: return "invalid"
        }
    }

    /// The list with ids as numbers, as `setfacl -M` would read it, with commas.
    public var text: String {
        guard let text = acl_to_any_text(list, nil, 0x2C, TEXT_ABBREVIATE | TEXT_NUMERIC_IDS) else { return "" }
        defer { acl_free(text) }
        return String(cString: text)
    }
}
