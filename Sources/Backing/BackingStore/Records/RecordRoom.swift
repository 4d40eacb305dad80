import ACLFormats
import LinuxSystem

extension BackingTree {
    /// Sets an attribute by `act` unless that would leave too little space for a record. Otherwise a caller who may write
    /// attributes could prevent each later deny entry.
    ///
    /// Where the attribute space is small (docs/decisions/0006-room-for-the-record.md), the present record and more entries must still fit. A
    /// value that does not grow is never refused. Call it with a lock on the object's attributes.
    /// - Parameters:
    ///   - name: the attribute.
    ///   - size: of its new value, in bytes.
    ///   - flags: of `XattrFlag`.
    ///   - entries: how many more.
    ///   - descriptor: any descriptor of the object.
    ///   - status: its status.
    ///   - act: sets the attribute.
    /// - Throws: `nospc`; and the error of `act`.
    public func keepingRoom(
        besides name: [UInt8], size: Int, flags: Int32, entries: Int, on descriptor: Int32, _ status: FileStatus,
        _ act: () throws(Errno) -> Void
    ) throws(Errno) {
        let space = try space(of: descriptor, status)
        guard let capacity = space.capacity else { return try act() }
        let present = try presentAttributes(descriptor, besides: name)
        // The call itself fails in these cases.
        if flags == XattrFlag.create, present.sameName != nil { return try act() }
        if flags == XattrFlag.replace, present.sameName == nil { return try act() }
        let asked = AttributeSpace.footprint(name: name, size: size)
        if let old = present.sameName, asked <= AttributeSpace.footprint(name: name, size: old) { return try act() }
        let free = capacity - present.others - asked
        if !space.spills {
            guard space.reservation(recordName: metadataName, present: present.record, entries: entries) <= free else { throw .nospc }
            return try act()
        }
        // The record's value is stored elsewhere; its name must exist or fit.
        if present.record != nil || footprint(ofRecord: MetadataRecord.size(entries: 0)) <= free { return try act() }
        try reservingName(on: descriptor, act)
    }

    /// Only the file system knows where it stores a value. So an empty record, which means the same as none, takes the space while
    /// `act` runs. A crash leaves it behind, which is harmless.
    private func reservingName(on descriptor: Int32, _ act: () throws(Errno) -> Void) throws(Errno) {
        let empty: [UInt8]
        do { empty = try MetadataRecord().encoded() } catch { throw .inval }
        try Syscall.setxattr(.any(descriptor), metadataName, empty)
        let result = Result { () throws(Errno) in try act() }
        try Syscall.removexattr(.any(descriptor), metadataName)
        try result.get()
    }

    private func footprint(ofRecord size: Int) -> Int {
        AttributeSpace.footprint(name: Array(metadataName.utf8), size: size)
    }

    /// The sizes of an object's attributes, of its record and of the attribute to set, in bytes.
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

    /// nil if the attribute was removed meanwhile on the backing directory.
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

    /// The attribute space of the backing directory's file system, measured on the first call.
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
