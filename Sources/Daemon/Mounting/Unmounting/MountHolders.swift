import ACLFormats
import Glibc
import Identity
import LinuxSystem
import ToolSupport

/// The processes that keep a mount in use, as `fuser -m` finds them, and the mounts on it. The mount gets no request, because its daemon may
/// hang: the kernel notes the mount of each open file. /proc shows the caller its own
/// processes, and root nearly all.
package struct MountHolders {
    private struct Process {
        var pid: Int32
        var user: UInt32
        var command: String
        var uses: [String]
    }

    private static let mostShown = 10
    private var processes: [Process] = []
    private var below: [String] = []
    /// Processes into which the caller may not look.
    private var closed = 0

    /// - Parameters:
    ///   - others: processes that do not count, besides this one.
    ///   - groups: process groups of which only more than a working directory counts.
    package init(of mount: MountEntry, besides others: Set<Int32> = [], workingIn groups: Set<Int32> = []) {
        below = MountTable.entries().filter { $0.parent == mount.id }.map(\.path)
        guard let proc = try? Syscall.open("/proc", OpenFlag.readOnly | OpenFlag.directory),
            let names = try? Syscall.names(proc.rawValue)
        else { return }
        let pids = names.compactMap { Int32(String(decoding: $0, as: UTF8.self)) }.sorted()
        for pid in pids where pid != getpid() && !others.contains(pid) { look(at: pid, mount, groups) }
    }

    /// The processes that use an object on an aclfs mount at or below one of some paths, by the paths that the kernel reports. Those of a mount in
    /// another mount namespace count if it stands on the same path there.
    /// - Parameter paths: absolute, without symlinks.
    package init(below paths: [[UInt8]]) {
        let others = Set(MountTable.entries().filter { $0.type != "fuse.aclfs" }.map(\.id))
        guard let proc = try? Syscall.open("/proc", OpenFlag.readOnly | OpenFlag.directory),
            let names = try? Syscall.names(proc.rawValue)
        else { return }
        let pids = names.compactMap { Int32(String(decoding: $0, as: UTF8.self)) }.sorted()
        for pid in pids where pid != getpid() { look(at: pid, below: paths, others) }
    }

    /// - Parameter others: the mounts of this namespace that are not of aclfs. Below a mount over the directory itself, the daemon has
    ///   objects of the same paths open on one of these.
    private mutating func look(at pid: Int32, below paths: [[UInt8]], _ others: Set<UInt64>) {
        let directory = "/proc/\(pid)"
        func isBelow(_ path: some Collection<UInt8>) -> Bool {
            paths.contains { path.elementsEqual($0) || path.starts(with: $0 + [0x2F]) }
        }
        func used(_ link: String) -> [UInt8]? {
            guard let path = try? Syscall.readlinkat(Syscall.workingDirectory, link), isBelow(path) else { return nil }
            // O_PATH: the object is not opened, and its server is not asked.
            guard let object = try? Syscall.open(link, OpenFlag.path), let mount = try? Syscall.mountID(of: object.rawValue) else {
                return path
            }
            return others.contains(mount) ? nil : path
        }
        var uses: [String] = []
        for (link, word) in [("cwd", "working directory"), ("root", "root directory"), ("exe", "program")] {
            if let path = used("\(directory)/\(link)") { uses.append("\(word) \(escapedName(path))") }
        }
        do throws(Errno) {
            let listing = try Syscall.open("\(directory)/fd", OpenFlag.readOnly | OpenFlag.directory)
            for name in try Syscall.names(listing.rawValue) {
                if let path = used("\(directory)/fd/\(String(decoding: name, as: UTF8.self))") {
                    uses.append("open file \(escapedName(path))")
                }
            }
        } catch {
            if error == .acces || error == .perm, !Self.isMissing("\(directory)/exe") { closed += 1 }
        }
        if let text = try? Syscall.readAll(path: "\(directory)/maps") {
            for line in text.split(separator: 0x0A) {
                let fields = line.split(separator: 0x20, maxSplits: 5)
                guard fields.count == 6 else { continue }
                let path = fields[5].drop { $0 == 0x20 }
                if isBelow(path) { uses.append("mapped file \(escapedName(path))") }
            }
        }
        note(pid, uses)
    }

    /// One line for each process and each mount.
    var lines: [String] {
        var lines = processLines
        lines += below.map { "  another mount on it: \($0)" }
        if closed > 0 { lines.append("  processes that could not be examined: \(closed)\(geteuid() == 0 ? "" : "; root sees them")") }
        return lines
    }

    /// One line for each process.
    package var processLines: [String] {
        var lines = processes.prefix(Self.mostShown).map { process in
            let more = process.uses.count > 1 ? " and \(process.uses.count - 1) more" : ""
            let user = (try? AccountDatabase.user(uid: process.user))?.name ?? "uid \(process.user)"
            return "  process \(process.pid) (\(process.command), \(user)): \(process.uses.first ?? "")\(more)"
        }
        if processes.count > Self.mostShown { lines.append("  and \(processes.count - Self.mostShown) more processes") }
        return lines
    }

    private mutating func look(at pid: Int32, _ mount: MountEntry, _ groups: Set<Int32>) {
        let directory = "/proc/\(pid)"
        var uses: [String] = []
        let mayWorkThere = groups.contains(getpgid(pid))
        for (link, word) in [("cwd", "working directory"), ("root", "root directory"), ("exe", "program")] {
            let path = "\(directory)/\(link)"
            // O_PATH: the object is not opened, and its server is not asked.
            guard let object = try? Syscall.open(path, OpenFlag.path), (try? Syscall.mountID(of: object.rawValue)) == mount.id else {
                continue
            }
            if link == "cwd", mayWorkThere { continue }
            uses.append("\(word) \(target(path))")
        }
        do throws(Errno) {
            let listing = try Syscall.open("\(directory)/fdinfo", OpenFlag.readOnly | OpenFlag.directory)
            for name in try Syscall.names(listing.rawValue) {
                let number = String(decoding: name, as: UTF8.self)
                // The file may be closed by now.
                guard let text = try? Syscall.readAll(path: "\(directory)/fdinfo/\(number)"),
                    Syscall.descriptorNote("mnt_id:", in: text) == "\(mount.id)"
                else { continue }
                uses.append("open file \(target("\(directory)/fd/\(number)"))")
            }
        } catch {
            // A process that has ended holds nothing. Until it is waited for it has no program any more.
            if error == .acces || error == .perm, !Self.isMissing("\(directory)/exe") { closed += 1 }
        }
        uses += mappings(of: directory, mount)
        note(pid, uses)
    }

    private mutating func note(_ pid: Int32, _ uses: [String]) {
        if uses.isEmpty { return }
        let directory = "/proc/\(pid)"
        let command = (try? Syscall.readAll(path: "\(directory)/comm")) ?? []
        let user = (try? Syscall.statxAt(Syscall.workingDirectory, directory))?.uid ?? .max
        processes.append(Process(pid: pid, user: user, command: escapedName(command.dropLast()), uses: uses))
    }

    private static func isMissing(_ link: String) -> Bool {
        do throws(Errno) {
            _ = try Syscall.readlinkat(Syscall.workingDirectory, link)
            return false
        } catch { return error == .noent }
    }

    /// The files of the mount's device that a process has mapped: a mapping outlives the descriptor.
    private func mappings(of directory: String, _ mount: MountEntry) -> [String] {
        guard let text = try? Syscall.readAll(path: "\(directory)/maps"), let device = DeviceNumber.parse(mount.device) else { return [] }
        var files: [String] = []
        for line in text.split(separator: 0x0A) {
            let fields = line.split(separator: 0x20, maxSplits: 5)
            guard fields.count == 6 else { continue }
            let numbers = fields[3].split(separator: 0x3A).compactMap { UInt64(String(decoding: $0, as: UTF8.self), radix: 16) }
            guard numbers.count == 2, numbers[0] << 32 | numbers[1] == device else { continue }
            let file = "mapped file \(escapedName(fields[5].drop { $0 == 0x20 }))"
            if !files.contains(file) { files.append(file) }
        }
        return files
    }

    private func target(_ link: String) -> String {
        let path = (try? Syscall.readlinkat(Syscall.workingDirectory, link)) ?? Array("?".utf8)
        // The kernel says so of any file whose entry was invalidated. With `dontSync` it answers by itself whether the file has a name.
        let word = Array(" (deleted)".utf8)
        let isThere = path.suffix(word.count) == word[...] && ((try? Self.status(link).nlink) ?? 0) > 0
        return escapedName(isThere ? path.dropLast(word.count) : path[...])
    }

    private static func status(_ link: String) throws(Errno) -> FileStatus {
        try Syscall.statxAt(Syscall.workingDirectory, link, flags: AtFlag.dontSync)
    }
}
