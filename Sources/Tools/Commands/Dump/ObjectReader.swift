import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import WireFormats

/// Where the metadata of objects is.
enum MetadataPlace {
    /// A mount, whose daemon decides what the caller may read.
    case mount
    /// A backing directory, with the attribute of records.
    case backing(String)
}

/// Reads the metadata of open objects.
struct ObjectReader {
    let place: MetadataPlace
    private let files = LinuxFiles()
    private let names = SystemNames()

    /// - Parameter path: of the element that is made.
    func item(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus) -> ExportItem {
        if let reason = ExportPath.problem(path) { return .unread(Array(path.prefix(ExportPath.longest)), reason) }
        do throws(CommandFailure) {
            switch place {
            case .mount: return .object(try onMount(node, path, status))
            case .backing(let record): return .object(try inBacking(node, path, status, record))
            }
        } catch { return .unread(path, error.message) }
    }

    // MARK: On a mount

    private func onMount(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus) throws(CommandFailure) -> ExportedObject {
        var object = plain(path, status)
        let (acl, flags): (ACL?, FileFlags)
        do throws(AttributeFailure) { (acl, flags) = (try files.acl(of: node, names: names), try files.flags(of: node)) } catch {
            throw CommandFailure(files.message(error, of: .stat, on: node, path))
        }
        (object.flags, object.isExcluded) = (flags.subtracting(.noDump), flags.contains(.noDump))
        object.list = acl.map { .entries($0) } ?? ExportedList.none
        if acl == nil, try hasPosixACL(node, isDirectory: status.isDirectory) { throw Self.posix }
        // Only then a record may have another owner.
        if status.uid == ObjectFacts.notAnID { object.owner = try identity("system.aclfs.owner", node) ?? object.owner }
        if status.gid == ObjectFacts.notAnID { object.group = try identity("system.aclfs.group", node) ?? object.group }
        return object
    }

    private func identity(_ name: String, _ node: SharedDescriptor) throws(CommandFailure) -> GUID? {
        try attempt { () throws(Errno) in try files.attribute(name, of: node) }.flatMap { GUID(uuidText: $0) }
    }

    /// A mount shows the list of the kernel where the object has no entries.
    private func hasPosixACL(_ node: SharedDescriptor, isDirectory: Bool) throws(CommandFailure) -> Bool {
        func value(_ name: String) throws(CommandFailure) -> [UInt8]? {
            try attempt { () throws(Errno) in
                do throws(Errno) { return try files.attribute(name, of: node) } catch {
                    guard error == .opnotsupp else { throw error }
                    return nil
                }
            }
        }
        // Three entries are the mode.
        if let access = try value(BackingAttributes.accessName), ((try? PosixWire.entries(access.span.bytes))?.count ?? 4) > 3 {
            return true
        }
        return isDirectory ? try value(BackingAttributes.standardName) != nil : false
    }

    // MARK: In a backing directory

    private func inBacking(
        _ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus, _ recordName: String
    ) throws(CommandFailure) -> ExportedObject {
        var object = plain(path, status)
        let present = try attempt { () throws(Errno) in
            do throws(Errno) { return try files.attributeNames(of: node) } catch {
                guard error == .opnotsupp else { throw error }
                return []
            }
        }
        func value(_ name: [UInt8]) throws(CommandFailure) -> [UInt8]? {
            guard present.contains(name) else { return nil }
            return try attempt { () throws(Errno) in try files.stored(String(decoding: name, as: UTF8.self), of: node) }
        }
        if present.contains(Array(BackingAttributes.accessName.utf8)) || present.contains(Array(BackingAttributes.standardName.utf8)) {
            throw Self.posix
        }
        var record = MetadataRecord()
        if let bytes = try value(Array(recordName.utf8)) {
            do { record = try MetadataRecord(decoding: bytes) } catch {
                throw CommandFailure("its record cannot be read: \(error.message)")
            }
        }
        object.isExcluded = record.flags.contains(.noDump)
        for mark in BackupMark.allCases {
            if let stored = try value(mark.storedName), mark.excludes(stored) { object.isExcluded = true }
        }
        object.flags = record.flags.subtracting(.noDump)
        object.list = record.acl.map { .entries($0) } ?? ExportedList.none
        if let owner = record.ownerGUID { object.owner = owner }
        if let group = record.groupGUID { object.group = group }
        return object
    }

    private func attempt<Value>(_ body: () throws(Errno) -> Value) throws(CommandFailure) -> Value {
        do { return try body() } catch { throw CommandFailure(error.text) }
    }

    // MARK: Both

    private static let posix = CommandFailure(
        "it has a POSIX ACL, which an export cannot hold; aclfs acl import --posix turns it into entries")

    private func plain(_ path: [UInt8], _ status: FileStatus) -> ExportedObject {
        ExportedObject(
            path: path, kind: ObjectKind(typeBits: status.mode), owner: GUID(user: status.uid), group: GUID(group: status.gid),
            // A link's mode has no meaning.
            mode: status.isSymlink ? nil : FileMode(rawValue: UInt16(truncatingIfNeeded: status.mode & 0o7777)))
    }
}
