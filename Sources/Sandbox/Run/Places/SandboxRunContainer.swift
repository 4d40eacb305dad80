import ACLFormats
import Glibc
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// The application's container. The caller makes it through the ordinary mount, since the view would refuse it.
struct SandboxRunContainer {
    /// Its path in the sandbox.
    let path: [UInt8]
    private let mountpoint: [UInt8]
    private let home: [[UInt8]]
    private let names: [[UInt8]]

    /// nil if the profile names no bundle.
    init?(_ profile: SandboxProfile, mountpoint: [UInt8]) {
        guard let bundle = profile.bundle else { return nil }
        home = profile.home
        names = profile.layout.container(bundle: bundle, home: profile.home)
        self.mountpoint = mountpoint
        path = (mountpoint == [0x2F] ? [] : mountpoint) + names.joinedPath
    }

    /// Makes the directories that are missing. A refusal is a warning only: the command runs without them.
    func make() {
        do throws(Errno) {
            let data = try directory(names, from: open(mountpoint), madeBelow: home.count)
            for directory in ContainerLayout.directories {
                _ = try self.directory(directory.utf8.pathNames, from: data, madeBelow: 0)
            }
        } catch {
            printError(
                "aclfs: warning: cannot make all directories of the container \(escapedName(path)): \(error)"
                    + (home.isEmpty ? "; if the user's home is not the top of the mount, name it with --home PATH" : ""))
        }
    }

    private func open(_ path: [UInt8]) throws(Errno) -> SharedDescriptor {
        try path.withCString { (path) throws(Errno) in
            SharedDescriptor(try Syscall.open(path, OpenFlag.path | OpenFlag.directory))
        }
    }

    /// Opens a directory and makes the names that are missing.
    /// - Parameter madeBelow: the number of leading names that must exist.
    private func directory(
        _ names: [[UInt8]], from top: SharedDescriptor, madeBelow: Int
    ) throws(Errno) -> SharedDescriptor {
        var current = top
        for (index, name) in names.enumerated() {
            let parent = current
            current = try name.withCString { (name) throws(Errno) in
                if index >= madeBelow {
                    do throws(Errno) { try Syscall.mkdirat(parent.rawValue, name, mode: 0o700) } catch {
                        // If the name exists, the kernel may still report another error first.
                        if error != .exist, (try? Syscall.statxAt(parent.rawValue, name)) == nil { throw error }
                    }
                }
                return SharedDescriptor(
                    try Syscall.openat(parent.rawValue, name, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow))
            }
        }
        return current
    }

    /// Sets HOME and TMPDIR to the container and its `tmp`, as on macOS.
    func setEnvironment() {
        for (name, value) in [("HOME", path), ("TMPDIR", path + Array("/tmp".utf8))] {
            let characters = value.map { CChar(bitPattern: $0) } + [0]
            setenv(name, characters, 1)
        }
    }
}
