import ACLFormats
import ArgumentParser
import ControlProtocol
import LinuxSystem
import Mounting
import ToolSupport

/// `aclfs upgrade MOUNTPOINT…`.
struct UpgradeMount: ParsedCommand, ListedCommand {
    static let summary = "serve a mount by the program as it is installed now"
    static let example = "upgrade /srv/share"
    static let configuration = CommandConfiguration(
        commandName: "aclfs upgrade",
        abstract: "Has mounts served by the program as it is installed now. No program that uses them notices.",
        usage: "aclfs upgrade [-q] MOUNTPOINT...\n       aclfs upgrade [-q] --all",
        discussion: """
            Calls wait for some milliseconds. Files stay open, locks and working directories stay. What cannot be upgraded so is \
            named with the reason, and goes on as before. Only root may do it.
            """)

    @Flag(help: "All mounts of root's.") var all = false
    @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print only what could not be upgraded.") var isQuiet = false
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoints: [String] = []

    /// - Returns: the exit status: 0, or 1 if a mount is not served by the new program.
    func perform() throws(CommandFailure) -> Int32 {
        if all == !mountpoints.isEmpty { throw CommandFailure("name mount points, or --all") }
        var status: Int32 = 0
        for entry in try entries() {
            do throws(ControlError) {
                let process = try Self.upgrade(entry)
                if !isQuiet { printLine("\(escapedName(entry.path.utf8)): served by process \(process) now") }
            } catch {
                sink.complain("upgrade: \(escapedName(entry.path.utf8)): not upgraded: \(error.message)")
                status = 1
            }
        }
        return status
    }

    private func entries() throws(CommandFailure) -> [MountEntry] {
        if all {
            let table = MountTable.entries().filter { $0.type == "fuse.aclfs" && $0.userID == 0 }
            // What stands on the same place hides it.
            return table.filter { entry in MountTable.entry(at: entry.path)?.device == entry.device }
        }
        return try mountpoints.map { (word) throws(CommandFailure) in
            let path = (try? MountPath.real(word)) ?? word
            guard let entry = MountTable.entry(at: path), entry.type == "fuse.aclfs" else {
                throw CommandFailure("\(escapedName(word.utf8)): no mount of aclfs is there")
            }
            return entry
        }
    }

    /// - Returns: the process that serves it.
    private static func upgrade(_ entry: MountEntry) throws(ControlError) -> Int64 {
        let before = try process(of: entry)
        do throws(ControlError) {
            let client = try ControlClient(device: entry.device, owner: entry.userID ?? 0)
            _ = try client.ask(UpgradeMessage())
        } catch {
            // It ends without an answer. What it answers is why it cannot.
            if error.code == Errno.inval.name {
                throw ControlError("its daemon is of a version that knows no upgrade: unmount and mount again")
            }
            if error.code != nil { throw error }
        }
        for _ in 0..<600 {
            if let process = try? process(of: entry), process != before { return process }
            guard MountTable.entries().contains(where: { $0.device == entry.device }) else {
                throw ControlError(
                    "the new program could not go on, and the log says why; if the mount answers, it was made anew, and files that were "
                        + "open get errors")
            }
            SystemTime.sleep(milliseconds: 50)
        }
        throw ControlError("it does not answer yet; the log says why")
    }

    private static func process(of entry: MountEntry) throws(ControlError) -> Int64 {
        let client = try ControlClient(device: entry.device, owner: entry.userID ?? 0, timeout: 5000)
        guard case .number(let process)? = try client.ask(StatusMessage()).daemon else {
            throw ControlError("its daemon is of a version that knows no upgrade: unmount and mount again")
        }
        return process
    }
}
