import ACLFormats
import Conformance
import ControlProtocol
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// The directory of a run: refused if a run there would mean nothing, or would disturb other processes.
struct ConformancePlace {
    let directory: SharedDescriptor
    /// Why root could not clear `schg` again; nil if it can.
    private(set) var keepsSystemFlags: String?

    /// - Parameter path: of the mount point, or of any other directory.
    init(_ path: [UInt8]) throws(RunFailure) {
        guard geteuid() == 0 else { throw RunFailure("a run acts as several users, which needs root") }
        do throws(Errno) {
            let number = try path.withCString { (path) throws(Errno) in
                try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory).release()
            }
            directory = SharedDescriptor(rawValue: number)
        } catch {
            throw RunFailure(error == .acces ? "is a mount only for the user who mounted it; mount it with allow_other" : error.text)
        }
        let id = try? Syscall.mountID(of: directory.rawValue)
        guard let mount = MountTable.entries().last(where: { $0.id == id }) else { return }
        if mount.options.contains("ro") || mount.superOptions.contains("ro") {
            throw RunFailure("is mounted read-only; a run needs to write")
        }
        try Self.checkQuiet(mount, directory.rawValue)
        if mount.type == "fuse.aclfs" { keepsSystemFlags = Self.securelevel(mount) }
    }

    /// Of a directory that is no mount point, the mount may be the whole system's.
    private static func checkQuiet(_ mount: MountEntry, _ directory: Int32) throws(RunFailure) {
        guard let top = try? Syscall.open(mount.path, OpenFlag.path), let there = try? Syscall.statx(top.rawValue),
            let here = try? Syscall.statx(directory), there.inode == here.inode, there.device == here.device
        else { return }
        let ancestors = Ancestry.ofThisProcess()
        // What stands beside it in a pipe was started in the same directory.
        let groups = Set(ancestors.map { getpgid($0) })
        let lines = MountHolders(of: mount, besides: ancestors, workingIn: groups).processLines
        if lines.isEmpty { return }
        let elsewhere = mount.type == "fuse.aclfs" ? ", or mount its source a second time and run there" : ""
        throw RunFailure(
            "is in use:\(lines.map { " \($0.drop { $0 == " " })" }.joined(separator: ";")); end these and run again\(elsewhere)")
    }

    /// At a securelevel above 0 root could not clear a system flag, and what a run made would stay.
    private static func securelevel(_ mount: MountEntry) -> String? {
        var round = MountRound(timeout: 5000)
        let answer = try? round.ask(mount) { (daemon) throws(ControlError) in try daemon.ask(StatusMessage()) }
        guard let answer else { return "the daemon does not report its securelevel" }
        let word = answer.options.first { $0.hasPrefix("securelevel=") }
        return word == nil || word == "securelevel=0" ? nil : "needs securelevel=0: the flag could not be cleared again"
    }
}

/// The processes that started this one: a shell may have its working directory on the mount.
enum Ancestry {
    static func ofThisProcess() -> Set<Int32> {
        var found: Set<Int32> = []
        var process = getpid()
        while process > 0, found.insert(process).inserted {
            // The name in brackets may hold blanks and brackets.
            guard let text = try? Syscall.readAll(path: "/proc/\(process)/stat"), let end = text.lastIndex(of: 0x29) else { break }
            let fields = text[(end + 1)...].split(separator: 0x20)
            guard fields.count > 1, let parent = Int32(String(decoding: fields[1], as: UTF8.self)) else { break }
            process = parent
        }
        return found
    }
}
