import Authorization
import BackingStore
import FuseSession
import Identity
import LinuxSystem
import MountOptions
import WireFormats

// `com.apple.acl.text`: the list as a Mac packs it into copies (docs/guide/copies.md). Nothing is stored for it. Names in the value are looked up
// without the metadata lock, because account databases may be slow.
extension XattrOperations {
    private static let storedName = Array("user.com.apple.acl.text".utf8)
    private static let setting = "setting com.apple.acl.text"

    func portableText(of id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        guard let acl = try readList(of: id, caller).acl else { throw .nodata }
        return LongFormText.write(acl, names: WireAccountNames(accounts, judge.identities, for: caller.payer))
    }

    func setPortableACL(of id: NodeID, to bytes: [UInt8], flags: Int32, _ caller: Caller) throws(Errno) {
        let copied: ACL
        do throws(LongFormError) {
            copied = try LongFormText.read(bytes, names: WireAccountNames(accounts, judge.identities, for: caller.payer))
        } catch {
            throw refuse(Self.setting, error.message, id, caller)
        }
        let isTooLong = try metadata.withMetadataLocked(id) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            let acl = copied.copied(onto: object.facts.acl)
            // A caller who may set nothing learns nothing of the entries that are there.
            if flags != 0 || acl.entries.count > ACL.maximumEntryCount {
                try judge.permit(.setACL(acl), Operands(object: object), caller, about: object)
            }
            if flags == XattrFlag.create, object.facts.acl != nil { throw .exist }
            if flags == XattrFlag.replace, object.facts.acl == nil { throw .nodata }
            if acl.entries.count > ACL.maximumEntryCount { return true }
            try metadata.changeACL(object, to: acl, caller)
            return false
        }
        if isTooLong { throw refuse(Self.setting, "with the inherited entries there are more than \(ACL.maximumEntryCount)", id, caller) }
    }

    /// Removes the explicit entries and the mark `no_inherit`, except what getfacl(1) shows. `rsync -aAX` has found that equal before it removes
    /// the attributes that its source lacks, and does not set it again. Called with the metadata lock held.
    func removePortableACL(_ object: ObjectState, _ caller: Caller) throws(Errno) {
        let rest = judge.posix.withoutWhatNoneSays(object.facts)
        if rest != object.facts.acl { return try metadata.changeACL(object, to: rest, caller) }
        try judge.permit(.setACL(nil), Operands(object: object), caller, about: object)
        if object.facts.acl == nil { throw .nodata }
    }

    /// The names under which the list is listed, if the caller may read it: those of an object with explicit entries that were not set as a POSIX
    /// ACL, or with the mark `no_inherit`, without which a copy would be open to what its directory passes on.
    func listedPortableACL(_ object: ObjectState, _ caller: Caller) -> [[UInt8]] {
        guard options.portableACL == .on, !judge.posix.sayAll(of: object.facts),
            judge.decide(.readACL, Operands(object: object), caller).isAllowed
        else { return [] }
        let names = options.xattrSpelling.listed(Self.storedName)
        // Linux refuses user.* on all other objects, so that a program could not read what it was shown.
        if object.facts.kind == .file || object.facts.kind == .directory { return names }
        return names.filter { $0 != Self.storedName }
    }
}
