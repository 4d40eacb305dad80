import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// A file loses its capabilities (security.capability) when its content or its owner changes. The backing file system removes them at every
// change, by the daemon or by passthrough. Before such a change the kernel also reads the attribute and requests its removal, in the name
// of the caller that makes the change. A user's own removexattr(2) the kernel refuses (CAP_SETFCAP), so no other request comes.

private let capabilityName = "security.capability"

extension XattrName {
    var isCapabilities: Bool { if case .security(let name) = self { name.elementsEqual(capabilityName.utf8) } else { false } }
}

extension MetadataChanges {
    /// Removes capabilities for root, on request or before a write. Two concurrent writers both send the removal: the second finds none.
    func removeCapabilities(_ name: [UInt8], _ object: ObjectState) throws(Errno) {
        do throws(Errno) { try removeXattr(name, object) } catch {
            guard error == .nodata, let node = object.node, files.hasWritableFile(of: node, openedBy: 0) else { throw error }
        }
    }

    /// Removes capabilities where a change of the owner is accepted and discarded: no call on the backing file would remove them
    /// (docs/reference/authorization.md Q1).
    func removeCapabilitiesOfFile(_ object: ObjectState) throws(Errno) {
        guard object.facts.kind == .file else { return }
        do throws(Errno) { try Syscall.removexattr(.any(object.descriptor.rawValue), capabilityName) } catch {
            // There are none, the file system has none, or an ordinary user's daemon may not remove them.
            guard error == .nodata || error == .opnotsupp || error == .perm && !runsAsRoot else { throw error }
        }
    }
}
