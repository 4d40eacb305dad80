import ACLFormats
import Glibc
import LinuxSystem

/// Whether a place of one mount can be come by from the root directory, step by step, without following any link.
struct SandboxWalk {
    enum End {
        /// Something else is in the way.
        case hidden
        /// Something else is in the way of the mount itself: what the last crossing leads into.
        case buried
        /// The same, and what hides it stands exactly on it, or on the top of its mount, so that it stays hidden wherever that is moved: as
        /// long as that stays itself. With what is seen there, which is a directory exactly where what it hides is one.
        case covered(by: SharedDescriptor, onTop: Bool)
        /// It should be there and is not: somebody renames what lies above it.
        case missing
        /// A directory on the way that the caller may not search.
        case closed(SharedDescriptor)
        /// A directory on the way that the caller could move elsewhere, and what lies in it with it. How many names it lies below
        /// the mount's top; nil if it lies above.
        case movable(SharedDescriptor, depth: Int?)
        /// The top of a mount on the way that another user serves, who need not answer: nobody goes on from there.
        case strangers(SharedDescriptor)
        /// The top of a mount on the way whose server says that nobody is there. That may be for a moment only.
        case dead(SharedDescriptor)
        case visible(SharedDescriptor)
        case root
    }

    /// A step from one mount into another that stands on a name of it.
    struct Crossing {
        var from: UInt64
        var into: UInt64
        /// Whether the name could be changed.
        var isMovable: Bool
    }

    /// Which directories on the way are met as `movable`.
    enum Pinning {
        case none, movable, all
    }

    var end: End
    var crossings: [Crossing] = []

    /// - Parameters:
    ///   - names: from the mount's top.
    ///   - fromRoot: whether nothing may come to stand at this path instead: then the directories above the mount count, too,
    ///     which would take it with them.
    ///   - mounts: is read anew where it does not know what is met.
    init(
        _ mount: MountInfo, _ names: [[UInt8]], among mounts: inout SandboxMounts, uid: UInt32, pinning: Pinning = .none,
        fromRoot: Bool = false
    ) throws(Errno) {
        end = .buried
        let top = SharedDescriptor(try Syscall.open("/", OpenFlag.path | OpenFlag.directory))
        var current = top
        // Of the mount that we are on.
        var mountTop = top
        var number = try Syscall.mountID(of: top.rawValue)
        for name in mount.path.pathNames {
            // From a mount that does not bear it nobody comes there, whoever serves that, lives or not and lets in whom he likes.
            if try !mounts.isBelow(mount, number) { return }
            if try isEnd(number, current, &mounts) { return }
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
                // Below something else it need not be there.
                if try mounts.isBelow(mount, number) { end = .missing }
                return
            case .dead:
                end = try Self.dead(mountTop, below: top)
                return
            }
        }
        if number != mount.id {
            // What stands on its top goes where it goes.
            if try mounts.stands(number, on: mount) { end = .covered(by: current, onTop: true) }
            return
        }
        end = .hidden
        for (index, name) in names.enumerated() {
            if try isEnd(number, current, &mounts) { return }
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
                if index == names.count - 1 { end = .covered(by: next, onTop: false) }
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

    /// Errors: stale of the root directory's own mount.
    private static func dead(_ top: SharedDescriptor, below root: SharedDescriptor) throws(Errno) -> End {
        if top === root { throw .stale }
        return .dead(top)
    }

    /// Whether nobody goes on from what somebody else serves. Where he lets nobody in, and be it root, there is nothing to be seen.
    private mutating func isEnd(
        _ number: UInt64, _ current: SharedDescriptor, _ mounts: inout SandboxMounts
    ) throws(Errno) -> Bool {
        if try mounts.keepsOut(number) {
            end = .hidden
        } else if try mounts.isStrangers(number) {
            end = .strangers(current)
        } else {
            return false
        }
        return true
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

    /// Whether names in the directory may be changed, or could be after a chmod. What is read-only or immutable now need not
    /// stay so.
    private static func isMovable(in directory: SharedDescriptor, uid: UInt32) -> Bool {
        guard let status = try? Syscall.statx(directory.rawValue, flags: AtFlag.dontSync) else { return true }
        return status.uid == uid || faccessat(directory.rawValue, ".", W_OK, AT_EACCESS) == 0 || errno != EACCES
    }
}
