import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import WireFormats

/// Reads objects of a backing directory that no daemon serves.
final class BackingReader: FactsReader {
    /// The bytes from which facts are made. Equal ones are read into facts once.
    private struct Source: Hashable {
        var mode: UInt32
        var uid: UInt32
        var gid: UInt32
        var record: [UInt8]?
        var posix: [UInt8]?
        var isMarked: Bool
    }

    private(set) var classes = ObjectClasses()
    private let files: OfflineFiles
    private let recordName: [UInt8]
    private let otherName: [UInt8]
    private var others = 0
    private var known: [Source: Int] = [:]

    init(_ tree: OfflineTree) {
        files = tree.files
        (recordName, otherName) = (Array(tree.files.recordName.utf8), Array(tree.otherRecordName.utf8))
    }

    var notes: [String] {
        if others == 0 { return [] }
        let (used, other) = (String(decoding: recordName, as: UTF8.self), String(decoding: otherName, as: UTF8.self))
        return [
            "\(others) \(others == 1 ? "object has" : "objects have") a record in \(other), which was not read: \(used) was. --metadata says which of the two a mount uses."
        ]
    }

    /// - Returns: what `aclfs volume` has set on the directory; nothing if its record cannot be read.
    func settings(of top: SharedDescriptor) -> VolumeSettings {
        guard let bytes = try? files.value(files.recordName, of: top), let record = try? MetadataRecord(decoding: bytes) else { return [] }
        return record.volume ?? []
    }

    func read(_ node: SharedDescriptor, _ status: FileStatus) throws(UnreadFacts) -> Int {
        let source: Source
        do throws(Errno) { source = try bytes(of: node, status) } catch { throw UnreadFacts(error) }
        if let number = known[source] { return number }
        let number = classes.number(of: try item(source))
        known[source] = number
        return number
    }

    private func bytes(of node: SharedDescriptor, _ status: FileStatus) throws(Errno) -> Source {
        var source = Source(mode: status.mode, uid: status.uid, gid: status.gid, isMarked: false)
        let names: [[UInt8]]
        do throws(Errno) { names = try Syscall.listxattr(.any(node.rawValue)) } catch {
            guard error == .opnotsupp else { throw error }
            return source
        }
        for name in names {
            if name == recordName {
                source.record = try files.value(files.recordName, of: node)
            } else if name == otherName {
                others += 1
            } else if name.elementsEqual(BackingAttributes.accessName.utf8) {
                source.posix = try files.value(BackingAttributes.accessName, of: node)
            } else if let mark = BackupMark(storedName: name),
                let stored = try files.value(String(decoding: name, as: UTF8.self), of: node)
            {
                source.isMarked = source.isMarked || mark.excludes(stored)
            }
        }
        return source
    }

    private func item(_ source: Source) throws(UnreadFacts) -> ObjectClass {
        let mode = FileMode(rawValue: UInt16(truncatingIfNeeded: source.mode & 0o7777))
        let record: MetadataRecord
        do {
            record =
                try source.record.map { (bytes) throws(MetadataRecordError) in try MetadataRecord(decoding: bytes) } ?? MetadataRecord()
        } catch { throw UnreadFacts("its record cannot be read: \(error.message)") }
        let facts = ObjectFacts(
            kind: ObjectKind(typeBits: source.mode), owner: source.uid, group: source.gid, mode: mode, flags: record.flags,
            acl: record.acl, ownerGUID: record.ownerGUID, groupGUID: record.groupGUID,
            posixACL: source.posix.flatMap { PosixACL.decoding($0.span.bytes, groupBits: mode.rawValue >> 3 & 7) })
        return ObjectClass(facts: facts, isExcluded: source.isMarked || record.flags.contains(.noDump))
    }
}
