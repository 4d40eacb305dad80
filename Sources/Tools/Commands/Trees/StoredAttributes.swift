import ACLFormats
import Authorization
import LinuxSystem

/// Why an ACL or flags could not be read or changed.
package enum AttributeFailure: Error {
    case system(Errno)
    /// The command cannot parse the attribute: the mount is of another version of aclfs.
    case text(String)
    case record(MetadataRecordError)
    /// The file system accepted a change, and did not make it.
    case noEffect(String)
    /// The object is not as it was read.
    case changedMeanwhile
    /// A call was refused, in words.
    case refused(String)

    var message: String {
        switch self {
        // Only aclfs has these attributes. "Operation not supported" would not say so.
        case .system(.opnotsupp): "not on an aclfs mount, or ACLs are disabled there"
        case .system(let errno): errno.text
        case .noEffect(let text), .refused(let text): text
        case .changedMeanwhile: "other programs keep changing it: gave up after \(ChangeTries.most) tries, and changed nothing"
        case .record(let problem): "its record cannot be read: \(problem.message)"
        case .text(let text): "unexpected answer of the file system: \(text)"
        }
    }
    /// The message for flags, which no mount option disables.
    var flagsMessage: String { isUnsupported ? "not on an aclfs mount" : message }
    var isUnsupported: Bool { if case .system(.opnotsupp) = self { true } else { false } }
}

/// Of the owner's identity.
let ownerAttribute = "system.aclfs.owner"

/// The ACL and the flags as attributes on an aclfs mount.
extension ToolFiles {
    /// - Returns: `nil` if the object has no ACL.
    func acl(of node: Node, names: some IdentityNames) throws(AttributeFailure) -> ACL? {
        let value: [UInt8]?
        do { value = try attribute("system.aclfs.acl", of: node) } catch { throw .system(error) }
        guard let value else { return nil }
        do { return try ACLAttributeText.parse(value, names: names) } catch { throw .text(error.message) }
    }

    func setACL(of node: Node, to acl: ACL?) throws(AttributeFailure) {
        do {
            if let acl {
                // UUIDs only: the daemon's account databases may differ from the caller's.
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
