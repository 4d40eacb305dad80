import ACLFormats
import Glibc
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// The application's container, made by its user through the mount as everybody sees it: from inside nobody could.
struct SandboxRunContainer {
    /// Its path, as the command is going to see it.
    let path: [UInt8]
    private let mountpoint: [UInt8]
    private let home: [[UInt8]]
    private let names: [[UInt8]]

    init?(_ profile: SandboxProfile, mountpoint: [UInt8]) {
        guard let bundle = profile.bundle else { return nil }
        home = profile.home
        names = profile.layout.container(bundle: bundle, home: profile.home)
        self.mountpoint = mountpoint
        path = (mountpoint == [0x2F] ? [] : mountpoint) + names.joinedPath
    }

    /// Makes what is missing. What may not be made is said and left: the command sees for itself what it can use.
    func make() {
        do throws(Errno) {
            let data = try directory(names, from: open(mountpoint), madeBelow: home.count)
            for directory in ContainerLayout.directories {
                _ = try self.directory(directory.utf8.pathNames, from: data, madeBelow: 0)
            }
        } catch {
            printError(
                "aclfs: warning: the container \(escapedName(path)) is not complete and cannot be made so: \(error)"
                    + (home.isEmpty ? "; does the user's home lie elsewhere (--home)?" : ""))
        }
    }

    private func open(_ path: [UInt8]) throws(Errno) -> SharedDescriptor {
        try path.withCString { (path) throws(Errno) in
            SharedDescriptor(try Syscall.open(path, OpenFlag.path | OpenFlag.directory))
        }
    }

    /// - Parameter madeBelow: how many names must be there already.
    private func directory(
        _ names: [[UInt8]], from top: SharedDescriptor, madeBelow: Int
    ) throws(Errno) -> SharedDescriptor {
        var current = top
        for (index, name) in names.enumerated() {
            let parent = current
            current = try name.withCString { (name) throws(Errno) in
                if index >= madeBelow {
                    do throws(Errno) { try Syscall.mkdirat(parent.rawValue, name, mode: 0o700) } catch {
                        // Where it is there already the kernel may say so first or not.
                        if error != .exist, (try? Syscall.statxAt(parent.rawValue, name)) == nil { throw error }
                    }
                }
                return SharedDescriptor(
                    try Syscall.openat(parent.rawValue, name, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow))
            }
        }
        return current
    }

    /// As macOS has it: home and temporary files are the container's.
    func setEnvironment() {
        for (name, value) in [("HOME", path), ("TMPDIR", path + Array("/tmp".utf8))] {
            let characters = value.map { CChar(bitPattern: $0) } + [0]
            setenv(name, characters, 1)
        }
    }
}
