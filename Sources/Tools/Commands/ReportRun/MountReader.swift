import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import WireFormats

/// Reads objects on a mount, as the caller: the daemon decides what it may read.
final class MountReader: FactsReader {
    /// The bytes from which facts are made. Equal ones are read into facts once.
    private struct Source: Hashable {
        var mode: UInt32
        var uid: UInt32
        var gid: UInt32
        var acl: [UInt8]?
        var flags: [UInt8]
        var posix: [UInt8]?
        var owner: [UInt8]?
        var group: [UInt8]?
    }

    private(set) var classes = ObjectClasses()
    private(set) var ignoresACLs = false
    private let names: SystemNames
    private var known: [Source: Int] = [:]
    private var hasPosix = true

    init(names: SystemNames) { self.names = names }

    var notes: [String] { ignoresACLs ? ["The mount ignores entries (noacl): the modes alone decide."] : [] }

    func read(_ node: SharedDescriptor, _ status: FileStatus) throws(UnreadFacts) -> Int {
        let source: Source
        do throws(Errno) { source = try bytes(of: node, status) } catch { throw UnreadFacts(error) }
        if let number = known[source] { return number }
        let number = classes.number(of: try item(source))
        known[source] = number
        return number
    }

    private func bytes(of node: SharedDescriptor, _ status: FileStatus) throws(Errno) -> Source {
        var source = Source(mode: status.mode, uid: status.uid, gid: status.gid, flags: [])
        do throws(Errno) { source.acl = try value("system.aclfs.acl", of: node) } catch {
            guard error == .opnotsupp else { throw error }
            ignoresACLs = true
        }
        source.flags = try value("system.aclfs.flags", of: node) ?? []
        if status.uid == ObjectFacts.notAnID { source.owner = try value("system.aclfs.owner", of: node) }
        if status.gid == ObjectFacts.notAnID { source.group = try value("system.aclfs.group", of: node) }
        // Beside entries the attribute is made from these. Alone it is the backing object's own.
        if source.acl == nil, hasPosix, !status.isSymlink {
            do throws(Errno) { source.posix = try value("system.posix_acl_access", of: node) } catch {
                if error == .opnotsupp { hasPosix = false }
            }
        }
        return source
    }

    private func value(_ name: String, of node: SharedDescriptor) throws(Errno) -> [UInt8]? {
        do throws(Errno) { return try Syscall.getxattr(.any(node.rawValue), name) } catch {
            if error == .nodata { return nil }
            throw error
        }
    }

    private func item(_ source: Source) throws(UnreadFacts) -> ObjectClass {
        let mode = FileMode(rawValue: UInt16(truncatingIfNeeded: source.mode & 0o7777))
        var facts = ObjectFacts(kind: ObjectKind(typeBits: source.mode), owner: source.uid, group: source.gid, mode: mode)
        do { facts.acl = try source.acl.map { (text) throws(ACLTextError) in try ACLAttributeText.parse(text, names: names) } } catch {
            throw UnreadFacts("its entries: \(error.message)")
        }
        do { facts.flags = try FileFlagsText.parseAttribute(source.flags) } catch { throw UnreadFacts("its flags: \(error.message)") }
        facts.ownerGUID = source.owner.flatMap { GUID(uuidText: $0) }
        facts.groupGUID = source.group.flatMap { GUID(uuidText: $0) }
        facts.posixACL = source.posix.flatMap { PosixACL.decoding($0.span.bytes, groupBits: mode.rawValue >> 3 & 7) }
        return ObjectClass(facts: facts, isExcluded: facts.flags.contains(.noDump))
    }
}
