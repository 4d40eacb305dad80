import BackingStore
import MountOptions

/// What a file system leaves for attributes other than the record.
package enum AttributeRoom {
    /// Bytes; nil if it cannot be found out.
    package static func left(_ directory: Int32, recordName: String) -> Int? {
        try? AttributeSpace.measured(in: directory, recordName: recordName)
            .forOthers(recordName: recordName, entries: MountOptions().listRoom)
    }

    package static func text(_ bytes: Int) -> String {
        bytes >= AttributeSpace.largestValue ? "64 KiB each" : "\(bytes) bytes for all of an object (list_room=)"
    }
}
