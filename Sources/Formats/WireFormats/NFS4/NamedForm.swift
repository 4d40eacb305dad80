import Authorization

/// The value of `system.nfs4_acl`: the number of entries, then for each its type, flags, rights and who-string (RFC 8881 6.2.1).
enum NamedForm {
    static func read(_ value: [UInt8], names: some WireNames) throws(NFS4Error) -> [ACE] {
        var reader = XDRReader(value)
        let count: UInt32
        do throws(NFS4Error.Problem) { count = try reader.word() } catch { throw NFS4Error(error) }
        try NFS4Value.checkCount(count)
        var entries: [ACE] = []
        for index in 0..<Int(count) {
            do throws(NFS4Error.Problem) { entries.append(try entry(&reader, names)) } catch { throw NFS4Error(error, entry: index) }
        }
        if reader.left != 0 { throw NFS4Error(.wrongLength(value.count, expected: value.count - reader.left)) }
        return entries
    }

    private static func entry(_ reader: inout XDRReader, _ names: some WireNames) throws(NFS4Error.Problem) -> ACE {
        let kind = try NFS4Word.kind(ofType: try reader.word())
        let flags = try reader.word()
        let stored = try NFS4Word.storedFlags(flags & ~NFS4Word.groupFlag)
        let rights = try NFS4Word.storedRights(try reader.word())
        let who = try reader.counted()
        return ACE(try NFS4Identity.read(who, isGroup: flags & NFS4Word.groupFlag != 0, names: names), kind, rights, flags: stored)
    }

    static func write(_ entries: [ACE], names: some WireNames) throws(NFS4Error) -> [UInt8] {
        var writer = XDRWriter()
        writer.add(UInt32(entries.count))
        for (index, entry) in entries.enumerated() {
            do throws(NFS4Error.Problem) {
                let (who, isGroup) = NFS4Identity.write(entry.guid, names: names)
                writer.add(try NFS4Word.type(of: entry))
                writer.add(try NFS4Word.flags(of: entry) | (isGroup ? NFS4Word.groupFlag : 0))
                writer.add(try NFS4Word.mask(of: entry))
                writer.add(counted: who)
            } catch { throw NFS4Error(error, entry: index) }
        }
        return writer.bytes
    }
}
