import ACLFormats
import Glibc
import LinuxSystem

/// Whether a place of one mount can be come by from the root directory, step by step, without following any link.
enum SandboxWalk {
    enum End {
        /// Something else is in the way, or nothing is there.
        case hidden
        /// A directory on the way that the caller may not search.
        case closed(SharedDescriptor)
        /// A directory on the way that the caller could move elsewhere, and what lies in it with it.
        case movable(SharedDescriptor)
        /// The top of a mount on the way that another user serves, who need not answer: nobody goes on from there.
        case strangers(SharedDescriptor)
        case visible(SharedDescriptor)
        case root
    }

    /// - Parameters:
    ///   - names: from the mount's top.
    ///   - fromRoot: whether nothing may come to stand at this path instead: then the directories above the mount count, too,
    ///     which would take it with them.
    ///   - mounts: is read anew where it does not know what is met.
    static func end(
        _ mount: MountInfo, _ names: [[UInt8]], among mounts: inout SandboxMounts, uid: UInt32, fromRoot: Bool = false
    ) throws(Errno) -> End {
        let top = SharedDescriptor(try Syscall.open("/", OpenFlag.path | OpenFlag.directory))
        var current = top
        // Of the mount that we are on.
        var number = try Syscall.mountID(of: top.rawValue)
        for name in mount.path.pathNames {
            if try mounts.isStrangers(number) { return .strangers(current) }
            switch try step(current, name) {
            case .to(let next):
                let nextNumber = try Syscall.mountID(of: next.rawValue)
                // What something is mounted on stays where it is.
                if fromRoot, nextNumber == number, isMovable(in: current, uid: uid) { return .movable(next) }
                (current, number) = (next, nextNumber)
            case .closed: return current === top ? .hidden : .closed(current)
            case .nowhere: return .hidden
            }
        }
        guard number == mount.id else { return .hidden }
        for (index, name) in names.enumerated() {
            if try mounts.isStrangers(number) { return .strangers(current) }
            let next: SharedDescriptor
            switch try step(current, name) {
            case .to(let found): next = found
            case .closed: return current === top ? .hidden : .closed(current)
            case .nowhere: return .hidden
            }
            guard try Syscall.mountID(of: next.rawValue) == mount.id else { return .hidden }
            if index < names.count - 1, isMovable(in: current, uid: uid) { return .movable(next) }
            current = next
        }
        return mount.path.pathNames.isEmpty && names.isEmpty ? .root : .visible(current)
    }

    /// A part of a mount of ours; nil if it cannot be opened.
    static func below(_ top: Int32, _ names: [[UInt8]]) -> SharedDescriptor? {
        guard var current = try? SharedDescriptor(Syscall.dup(top)) else { return nil }
        for name in names {
            guard let step = try? step(current, name), case .to(let next) = step else { return nil }
            current = next
        }
        return current
    }

    private enum Step {
        case to(SharedDescriptor)
        case closed, nowhere
    }

    private static func step(_ directory: SharedDescriptor, _ name: [UInt8]) throws(Errno) -> Step {
        do throws(Errno) {
            return .to(
                try name.withCString { (name) throws(Errno) in
                    SharedDescriptor(try Syscall.openat(directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
                })
        } catch {
            switch error {
            case .acces, .perm: return .closed
            // A mount whose server died comes to life no more.
            case .noent, .notdir, .loop, .notconn, .stale: return .nowhere
            default: throw error
            }
        }
    }

    /// Without asking whoever serves it.
    static func isDirectory(_ object: Int32) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try Syscall.open("/proc/self/fd/\(object)", OpenFlag.path | OpenFlag.directory)
            return true
        } catch {
            if error == .notdir { return false }
            throw error
        }
    }

    /// Whether names in the directory may be changed, or could be after a chmod.
    private static func isMovable(in directory: SharedDescriptor, uid: UInt32) -> Bool {
        guard let status = try? Syscall.statx(directory.rawValue, flags: AtFlag.dontSync) else { return true }
        return status.uid == uid || faccessat(directory.rawValue, ".", W_OK, AT_EACCESS) == 0
    }
}
