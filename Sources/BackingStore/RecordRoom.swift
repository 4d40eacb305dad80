import ACLFormats
import LinuxSystem

extension BackingTree {
    /// Sets an attribute by `act` unless it would take the room of a later list: whoever may write attributes could
    /// otherwise make every later deny entry impossible. Where the space of an object's attributes is small and
    /// shared (docs/decisions/0006-room-for-the-record.md), the longest record must still fit beside all others, or,
    /// where that never fits, the present record and four more entries. What does not grow is never refused. To be
    /// called under a lock that other changes of the object's attributes wait for.
    /// - Throws: `nospc`; and what `act` throws.
    public func keepingRoom(
        besides name: [UInt8], size: Int, flags: Int32, on descriptor: Int32, _ status: FileStatus,
        _ act: () throws(Errno) -> Void
    ) throws(Errno) {
        let space = try space(of: descriptor, status)
        guard let capacity = space.capacity else { return try act() }
        let present = try presentAttributes(descriptor, besides: name)
        // These are refused for what they are, and not by us.
        if flags == XattrFlag.create, present.sameName != nil { return try act() }
        if flags == XattrFlag.replace, present.sameName == nil { return try act() }
        let asked = AttributeSpace.footprint(name: name, size: size)
        if let old = present.sameName, asked <= AttributeSpace.footprint(name: name, size: old) { return try act() }
        let free = capacity - present.others - asked
        if !space.spills {
            guard reserve(in: capacity, present: present.record) <= free else { throw .nospc }
            return try act()
        }
        // A record's value finds a place elsewhere; its name must be there or find room.
        if present.record != nil || footprint(ofRecord: MetadataRecord.size(entries: 0)) <= free { return try act() }
        try holdingThePlace(on: descriptor, act)
    }

    /// Values may lie here or elsewhere, and only the file system knows: so an empty record, which means the same as
    /// none, takes the place while `act` runs. A crash meanwhile leaves it, and that is harmless.
    private func holdingThePlace(on descriptor: Int32, _ act: () throws(Errno) -> Void) throws(Errno) {
        let empty: [UInt8]
        do { empty = try MetadataRecord().encoded() } catch { throw .inval }
        try Syscall.setxattr(.any(descriptor), metadataName, empty)
        let result = Result { () throws(Errno) in try act() }
        try Syscall.removexattr(.any(descriptor), metadataName)
        try result.get()
    }

    private func reserve(in capacity: Int, present: Int?) -> Int {
        let longest = footprint(ofRecord: MetadataRecord.maximumSize)
        if longest <= capacity { return longest }
        // A record without a list gets its head too.
        return footprint(ofRecord: (present ?? 0) + MetadataRecord.size(entries: 4))
    }

    private func footprint(ofRecord size: Int) -> Int {
        AttributeSpace.footprint(name: Array(metadataName.utf8), size: size)
    }

    /// What an object's attributes take; sizes of the record and of the one that is to be set.
    private struct PresentAttributes {
        var others = 0
        var record: Int?
        var sameName: Int?
    }

    private func presentAttributes(_ descriptor: Int32, besides name: [UInt8]) throws(Errno) -> PresentAttributes {
        let recordName = Array(metadataName.utf8)
        var present = PresentAttributes()
        for other in try Syscall.listxattr(.any(descriptor)) {
            guard let size = try valueSize(descriptor, other) else { continue }
            if other == recordName {
                present.record = size
            } else if other == name {
                present.sameName = size
            } else {
                present.others += AttributeSpace.footprint(name: other, size: size)
            }
        }
        return present
    }

    /// nil if the attribute has gone meanwhile, behind the mount.
    private func valueSize(_ descriptor: Int32, _ name: [UInt8]) throws(Errno) -> Int? {
        try name.withCString { (name) throws(Errno) -> Int? in
            do throws(Errno) {
                return try Syscall.getxattr(
                    .any(descriptor), name, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
            } catch {
                if error == .nodata || error == .opnotsupp { return nil }
                throw error
            }
        }
    }

    /// The attribute space of the backing directory itself, measured when it is first asked for.
    public func rootAttributeSpace() throws(Errno) -> AttributeSpace {
        let descriptor = try descriptor(of: root)
        return try attributeSpaces.space(device: root.key.device) { () throws(Errno) in
            try AttributeSpace.measured(in: descriptor.rawValue, recordName: metadataName)
        }
    }

    private func space(of descriptor: Int32, _ status: FileStatus) throws(Errno) -> AttributeSpace {
        if status.device == root.key.device { return try rootAttributeSpace() }
        return try attributeSpaces.space(device: status.device) { () throws(Errno) in
            try AttributeSpace.known(descriptor)
        }
    }
}
