import ACLFormats
import Authorization
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// Files of this user that no other user may change. On a mount the mode does not say so alone: a file inherits entries.
enum PrivateFile {
    /// Makes a file for its owner alone, without entries. Where files inherit some it has no name before they are gone: who had opened
    /// it earlier could write to it afterwards.
    /// - Parameters:
    ///   - name: its name, which is no object's.
    ///   - directory: any descriptor of its directory.
    /// - Returns: a descriptor for writing.
    /// - Throws: `exist`; `opnotsupp` if it inherits entries, and the kernel makes no file without a name on a mount.
    static func make(_ name: [UInt8], in directory: SharedDescriptor) throws(Errno) -> SharedDescriptor {
        let place = directory.rawValue
        let device = DeviceNumber.text(try Syscall.statx(place).device)
        guard MountTable.entries().contains(where: { $0.device == device && $0.type == "fuse.aclfs" }) else {
            return try named(name, place)
        }
        let nameless: SharedDescriptor
        do throws(Errno) {
            nameless = SharedDescriptor(
                try Syscall.openat(place, ".", OpenFlag.writeOnly | OpenFlag.temporaryFile, mode: mode))
        } catch {
            guard [.opnotsupp, .isdir, .inval].contains(error) else { throw error }
            return try withoutInheritance(name, place)
        }
        if try hasList(nameless) {
            try LinuxFiles().removeAttribute(listName, of: nameless)
            guard try !hasList(nameless) else { throw .opnotsupp }
        }
        try name.withCString { (name) throws(Errno) in try Syscall.link(descriptor: nameless.rawValue, to: place, name) }
        return nameless
    }

    /// The message of an error of `make`, but for a name that exists.
    static func text(_ error: Errno) -> String {
        error == .opnotsupp
            ? "a file in its directory inherits entries, by which others could change it; name another directory" : error.text
    }

    /// - Parameters:
    ///   - file: a descriptor that is no O_PATH one.
    ///   - status: its status.
    /// - Returns: why another user could change what the file has; nil if none but root can.
    static func objection(_ file: SharedDescriptor, _ status: FileStatus) -> String? {
        let others = "another user could have written it; it must be this user's or root's, and closed to others by its mode and entries"
        guard status.uid == geteuid() || status.uid == 0, status.mode & 0o022 == 0 else { return others }
        let device = DeviceNumber.text(status.device)
        guard let mount = MountTable.entries().last(where: { $0.device == device && $0.type.hasPrefix("fuse") }) else { return nil }
        let place = escapedName(mount.path.utf8)
        // Its program says whose files are.
        if mount.isOfAnotherUser { return "it lies on \(place), which user \(mount.userID ?? 0) serves; keep it elsewhere" }
        guard mount.type == "fuse.aclfs" else { return nil }
        // With noowners the mode closes nothing, and each caller is shown as the owner.
        guard respectsOwners(mount) else {
            return "it lies in the aclfs mount \(place), which ignores owners or does not say that it respects them; keep it elsewhere"
        }
        do throws(AttributeFailure) {
            let list = try LinuxFiles().acl(of: file, names: SystemNames())
            let isOpen = list?.entries.contains { $0.kind == .allow && !$0.rights.isDisjoint(with: changing) } ?? false
            return isOpen ? others : nil
        } catch { return error.isUnsupported ? nil : error.message }
    }

    /// Only root and the user who mounted may know the options. Others are judged by owner and entries on a mount that respects them, and on
    /// one that does not they are as exposed with any file.
    private static func respectsOwners(_ mount: MountEntry) -> Bool {
        guard geteuid() == 0 else { return true }
        guard let options = try? MountLocation(top: mount).client().ask(StatusMessage()).options else { return false }
        return !options.contains("noowners")
    }

    private static let mode: UInt32 = 0o600
    private static let listName = "system.aclfs.acl"
    private static let changing: Rights = [.write, .append, .writeSecurity, .changeOwner, .genericAll, .genericWrite]

    private static func named(_ name: [UInt8], _ place: Int32) throws(Errno) -> SharedDescriptor {
        let flags = OpenFlag.writeOnly | OpenFlag.create | OpenFlag.exclusive | OpenFlag.noFollow
        return SharedDescriptor(
            rawValue: try name.withCString { (name) throws(Errno) in try Syscall.openat(place, name, flags, mode: mode).release() })
    }

    private static func withoutInheritance(_ name: [UInt8], _ place: Int32) throws(Errno) -> SharedDescriptor {
        let file = try named(name, place)
        guard (try? hasList(file)) == false else {
            try? name.withCString { (name) throws(Errno) in try Syscall.unlinkat(place, name) }
            throw .opnotsupp
        }
        return file
    }

    private static func hasList(_ file: SharedDescriptor) throws(Errno) -> Bool {
        do throws(Errno) { return try LinuxFiles().attribute(listName, of: file) != nil } catch {
            // A mount whose source stores none.
            if error == .opnotsupp { return false }
            throw error
        }
    }
}
