import ACLFormats
import Glibc
import LinuxSystem

/// A walk from the root directory to a path of one mount, name by name, without following links: whether the path is visible, and
/// which object stops the walk if it is not.
struct SandboxWalk {
    enum End {
        /// Another mount hides the path.
        case pathHidden
        /// Another mount hides the mount of the path: the one that the last crossing leads into.
        case mountHidden
        /// An overmount stands on the path itself, or on the top of its mount, and moves with it. `by` is what it shows: a directory
        /// exactly if the path is one.
        case overmounted(by: SharedDescriptor, onTop: Bool)
        /// No object has the path. A rename of a directory above may be in progress.
        case missing
        /// A directory above the path that the caller may not search.
        case closed(SharedDescriptor)
        /// A directory above the path that the caller could rename. `depth` is the number of names below the mount's top; nil if the
        /// directory lies above the mount.
        case movable(SharedDescriptor, depth: Int?)
        /// The top of a mount above the path that another user serves. Its server need not answer, so the walk ends there.
        case ofAnotherUser(SharedDescriptor)
        /// The top of a mount above the path that answers as if its server were dead. That may be untrue a moment later.
        case dead(SharedDescriptor)
        case visible(SharedDescriptor)
        case root
    }

    /// A step from one mount into another that stands on a name of it.
    struct Crossing {
        var from: UInt64
        var into: UInt64
        /// Whether the caller could rename the name.
        var isMovable: Bool
    }

    /// Which directories above the path end the walk as `movable`.
    enum Pinning {
        case none, movable, all
    }

    var end: End
    var crossings: [Crossing] = []

    /// - Parameters:
    ///   - names: from the mount's top.
    ///   - mounts: read again if it lacks a mount that the walk reaches.
    ///   - uid: of the caller.
    ///   - pinning: which directories end the walk as `movable`.
    ///   - fromRoot: whether directories above the mount count as well, because no other object may take the path.
    /// - Throws: an error other than those that `End` has a case for.
    init(
        _ mount: MountInfo, _ names: [[UInt8]], among mounts: inout SandboxMounts, uid: UInt32, pinning: Pinning = .none,
        fromRoot: Bool = false
    ) throws(Errno) {
        end = .mountHidden
        let top = SharedDescriptor(try Syscall.open("/", OpenFlag.path | OpenFlag.directory))
        var current = top
        // The top of the mount that the walk has reached.
        var mountTop = top
        var number = try Syscall.mountID(of: top.rawValue)
        for name in mount.path.pathNames {
            // Only an ancestor of the mount leads to it. No other server is asked.
            if !mounts.isBelow(mount, number) { return }
            if try endAtOtherUser(number, current, &mounts) { return }
            switch try Self.step(current, name) {
            case .to(let next):
                let nextNumber = try Syscall.mountID(of: next.rawValue)
                if nextNumber != number {
                    crossings.append(Crossing(from: number, into: nextNumber, isMovable: Self.isMovable(in: current, uid: uid)))
                    mountTop = next
                } else if fromRoot, pinning != .none, Self.isMovable(in: current, uid: uid) {
                    end = .movable(next, depth: nil)
                    return
                }
                (current, number) = (next, nextNumber)
            case .closed:
                if current !== top { end = .closed(current) }
                return
            case .nowhere:
                // Below an unrelated mount the name need not exist.
                if mounts.isBelow(mount, number) { end = .missing }
                return
            case .dead:
                end = try Self.dead(mountTop, below: top)
                return
            }
        }
        if number != mount.id {
            // An overmount of its top moves with it.
            if try mounts.stands(number, on: mount) { end = .overmounted(by: current, onTop: true) }
            return
        }
        end = .pathHidden
        for (index, name) in names.enumerated() {
            if try endAtOtherUser(number, current, &mounts) { return }
            let next: SharedDescriptor
            switch try Self.step(current, name) {
            case .to(let found): next = found
            case .closed:
                if current !== top { end = .closed(current) }
                return
            case .nowhere:
                end = .missing
                return
            case .dead:
                end = try Self.dead(mountTop, below: top)
                return
            }
            let nextNumber = try Syscall.mountID(of: next.rawValue)
            guard nextNumber == mount.id else {
                crossings.append(Crossing(from: number, into: nextNumber, isMovable: Self.isMovable(in: current, uid: uid)))
                if index == names.count - 1 { end = .overmounted(by: next, onTop: false) }
                return
            }
            if index < names.count - 1, pinning == .all || pinning == .movable && Self.isMovable(in: current, uid: uid) {
                end = .movable(next, depth: index + 1)
                return
            }
            current = next
        }
        end = mount.path.pathNames.isEmpty && names.isEmpty ? .root : .visible(current)
    }

    /// - Throws: `stale` if it is the mount of the root directory.
    private static func dead(_ top: SharedDescriptor, below root: SharedDescriptor) throws(Errno) -> End {
        if top === root { throw .stale }
        return .dead(top)
    }

    /// Ends the walk at the mount of another user. If that mount admits only its user, the path is hidden.
    /// - Returns: whether the walk has ended.
    private mutating func endAtOtherUser(
        _ number: UInt64, _ current: SharedDescriptor, _ mounts: inout SandboxMounts
    ) throws(Errno) -> Bool {
        if try mounts.refusesCaller(number) {
            end = .pathHidden
        } else if try mounts.isOfAnotherUser(number) {
            end = .ofAnotherUser(current)
        } else {
            return false
        }
        return true
    }

    /// - Returns: the object of a path below `top`; nil if it cannot be opened.
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
        case closed, nowhere, dead
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
            case .noent, .notdir, .loop: return .nowhere
            case _ where error.isOfDeadServer: return .dead
            default: throw error
            }
        }
    }

    /// Whether an object is a directory, without a request to its server.
    static func isDirectory(_ object: Int32) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try Syscall.open("/proc/self/fd/\(object)", OpenFlag.path | OpenFlag.directory)
            return true
        } catch {
            if error == .notdir { return false }
            throw error
        }
    }

    /// Whether the caller may rename in a directory, or could after chmod(2). A read-only or immutable one may be changed back.
    private static func isMovable(in directory: SharedDescriptor, uid: UInt32) -> Bool {
        guard let status = try? Syscall.statx(directory.rawValue, flags: AtFlag.dontSync) else { return true }
        return status.uid == uid || faccessat(directory.rawValue, ".", W_OK, AT_EACCESS) == 0 || errno != EACCES
    }
}
