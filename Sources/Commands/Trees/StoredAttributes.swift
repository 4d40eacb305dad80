import ACLFormats
import Authorization
import LinuxSystem

/// Why ACL or flags could not be read or changed.
package enum AttributeFailure: Error {
    case system(Errno)
    /// What the file system answered is not in the language of this command: another version of aclfs.
    case text(String)

    var message: String {
        switch self {
        // Only aclfs has these attributes; the bare "Operation not supported" explains nothing.
        case .system(.opnotsupp): "not on an aclfs mount, or ACLs are disabled there"
        case .system(let errno): errno.text
        case .text(let text): "unexpected answer of the file system: \(text)"
        }
    }
    /// Of the flags, which no option of a mount disables.
    var flagsMessage: String { isUnsupported ? "not on an aclfs mount" : message }
    var isUnsupported: Bool { if case .system(.opnotsupp) = self { true } else { false } }
}

/// ACL and flags as attributes of an aclfs mount.
extension ToolFiles {
    /// `nil` = no ACL.
    func acl(of node: Node, names: some IdentityNames) throws(AttributeFailure) -> ACL? {
        let value: [UInt8]?
        do { value = try attribute("system.aclfs.acl", of: node) } catch { throw .system(error) }
        guard let value else { return nil }
        do { return try ACLAttributeText.parse(value, names: names) } catch { throw .text(error.message) }
    }

    func setACL(of node: Node, to acl: ACL?) throws(AttributeFailure) {
        do {
            if let acl {
                // UUIDs only: what the caller's databases call somebody must not be translated a second time.
                let text = ACLAttributeText.write(acl, isDirectory: false, names: NoNames())
                try setAttribute("system.aclfs.acl", of: node, to: text)
            } else {
                try removeAttribute("system.aclfs.acl", of: node)
            }
        } catch { throw .system(error) }
    }

    func flags(of node: Node) throws(AttributeFailure) -> FileFlags {
        let value: [UInt8]?
        do { value = try attribute("system.aclfs.flags", of: node) } catch { throw .system(error) }
        do { return try FileFlagsText.parseAttribute(value ?? []) } catch { throw .text(error.message) }
    }

    func setFlags(of node: Node, to flags: FileFlags) throws(AttributeFailure) {
        do {
            try setAttribute("system.aclfs.flags", of: node, to: Array(FileFlagsText.attribute(flags).utf8))
        } catch { throw .system(error) }
    }
}
