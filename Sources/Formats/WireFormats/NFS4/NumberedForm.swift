import Authorization

/// The value of `system.nfs4_acl_xdr`: flags of the list and the number of entries, then five words for each: type, flags, mark of a
/// special identity, rights, identity.
enum NumberedForm {
    /// Flags of the list. The last two describe the object, so they are written and not stored.
    private static let isProtected: UInt32 = 0x2
    private static let isTrivial: UInt32 = 0x1_0000
    private static let isDirectory: UInt32 = 0x2_0000

    private static let headerSize = 8
    private static let entrySize = 20

    static func read(_ value: [UInt8]) throws(NFS4Error) -> (entries: [ACE], listFlags: UInt32) {
        var reader = XDRReader(value)
        let (flags, count): (UInt32, UInt32)
        do throws(NFS4Error.Problem) { (flags, count) = (try reader.word(), try reader.word()) } catch { throw NFS4Error(error) }
        let unknown = flags & ~(isProtected | isTrivial | isDirectory)
        if unknown != 0 { throw NFS4Error(.unknownListFlags(unknown)) }
        try NFS4Value.checkCount(count)
        let expected = headerSize + entrySize * Int(count)
        if value.count != expected { throw NFS4Error(.wrongLength(value.count, expected: expected)) }
        var entries: [ACE] = []
        for index in 0..<Int(count) {
            do throws(NFS4Error.Problem) { entries.append(try entry(&reader)) } catch { throw NFS4Error(error, entry: index) }
        }
        return (entries, flags & isProtected != 0 ? ACL.noInherit : 0)
    }

    private static func entry(_ reader: inout XDRReader) throws(NFS4Error.Problem) -> ACE {
        let kind = try NFS4Word.kind(ofType: try reader.word())
        let flags = try reader.word()
        let stored = try NFS4Word.storedFlags(flags & ~NFS4Word.groupFlag)
        let mark = try reader.word()
        let rights = try NFS4Word.storedRights(try reader.word())
        let identity = try identity(try reader.word(), mark: mark, isGroup: flags & NFS4Word.groupFlag != 0)
        return ACE(identity, kind, rights, flags: stored)
    }

    private static func identity(_ number: UInt32, mark: UInt32, isGroup: Bool) throws(NFS4Error.Problem) -> GUID {
        switch (mark, number) {
        case (0, .max): throw .noSuchName(Array("\(number)".utf8), isGroup: isGroup)
        case (0, _): return isGroup ? GUID(group: number) : GUID(user: number)
        case (1, 1): return .owner
        case (1, 2): return .owningGroup
        case (1, 3): return .everyone
        case (1, _): throw .unknownSpecialIdentity(number)
        default: throw .unknownMark(mark)
        }
    }

    static func write(
        _ entries: [ACE], listFlags: UInt32, isTrivial: Bool, isDirectory: Bool
    ) throws(NFS4Error) -> [UInt8] {
        var flags: UInt32 = (isTrivial ? Self.isTrivial : 0) | (isDirectory ? Self.isDirectory : 0)
        if listFlags & ~ACL.noInherit != 0 { throw NFS4Error(.listFlagsWithoutForm(listFlags & ~ACL.noInherit)) }
        if listFlags != 0 { flags |= isProtected }
        var writer = XDRWriter()
        writer.add(flags)
        writer.add(UInt32(entries.count))
        for (index, entry) in entries.enumerated() {
            do throws(NFS4Error.Problem) {
                let (mark, number, isGroup) = try words(of: entry.guid)
                writer.add(try NFS4Word.type(of: entry))
                writer.add(try NFS4Word.flags(of: entry) | (isGroup ? NFS4Word.groupFlag : 0))
                writer.add(mark)
                writer.add(try NFS4Word.mask(of: entry))
                writer.add(number)
            } catch { throw NFS4Error(error, entry: index) }
        }
        return writer.bytes
    }

    private static func words(
        of identity: GUID
    ) throws(NFS4Error.Problem) -> (mark: UInt32, number: UInt32, isGroup: Bool) {
        switch Principal(identity) {
        case .owner: return (1, 1, false)
        case .owningGroup: return (1, 2, true)
        case .everyone: return (1, 3, false)
        case .user(let uid) where uid != .max: return (0, uid, false)
        case .group(let gid) where gid != .max && GUID(group: gid) == identity: return (0, gid, true)
        case .user, .group, .nobody, .other: throw .identityWithoutNumber(identity)
        }
    }
}
