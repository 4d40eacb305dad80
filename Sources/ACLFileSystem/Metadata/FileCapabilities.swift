import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// A file's capabilities (security.capability) go when its content or its owner changes, in any user's name, as natively. The
// backing file system sees to that: whatever is done to it, by the daemon or by passthrough, takes them away. But before the kernel
// asks for the change it asks for the attribute and, if there is one, for its removal, in the name of the caller that writes, truncates,
// reserves or changes the owner. A user's own removexattr(2) it refuses by itself (CAP_SETFCAP), so this is all that comes.

private let capabilityName = "security.capability"

extension XattrName {
    var isCapabilities: Bool { if case .security(let name) = self { name.elementsEqual(capabilityName.utf8) } else { false } }
}

extension MetadataChanges {
    /// Root's removal, by itself or before a write of its own. Two writers at once are both told to remove what is there once.
    func removeCapabilities(_ name: [UInt8], _ object: ObjectState) throws(Errno) {
        do throws(Errno) { try removeXattr(name, object) } catch {
            guard error == .nodata, let node = object.node, handles.hasWritableFile(of: node, openedBy: 0) else { throw error }
        }
    }

    /// Where a change of the owner is accepted and discarded nothing reaches the backing file (docs/authorization.md Q1).
    func removeCapabilitiesOfFile(_ object: ObjectState) throws(Errno) {
        guard object.facts.kind == .file else { return }
        do throws(Errno) { try Syscall.removexattr(.any(object.descriptor.rawValue), capabilityName) } catch {
            // None, none possible, or an ordinary user's daemon, which may not.
            guard error == .nodata || error == .opnotsupp || error == .perm && !runsAsRoot else { throw error }
        }
    }
}
