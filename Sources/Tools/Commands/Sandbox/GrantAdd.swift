import ACLFormats
import ArgumentParser
import ControlProtocol
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// `aclfs sandbox grant add`: grants paths to an application.
struct GrantAdd: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant add", abstract: "Lets an application reach a file or a folder that the user chose.",
        usage: "aclfs sandbox grant add --bundle ID --read-only|--read-write [--follow] [--expires TIME] PATH ...")

    @Option(help: ArgumentHelp("The bundle identifier of the application.", valueName: "ID")) var bundle: String
    @Flag(help: "Allow reading and executing.") var readOnly = false
    @Flag(help: "Allow reading, writing and executing.") var readWrite = false
    @Flag(help: "Grant the object instead of the path: wherever it is moved or renamed, until it is removed.") var follow = false
    /// Unconditional: a value that begins with a dash gets the message for a wrong time.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("When the grant ends: 30m, 12h, 7d, '2026-12-31 18:00', 2026-12-31T18:00:00Z or @SECONDS.", valueName: "TIME"))
    var expires: String?
    @Argument(help: ArgumentHelp("On an aclfs mount; a folder is granted with all below it.", valueName: "PATH")) var paths: [ByteWord]

    /// - Returns: the exit status: 0 done, 1 some paths failed, 2 nothing was done.
    func perform() -> Int32 {
        guard readOnly != readWrite else { return Grants.wrong("say either --read-only or --read-write") }
        guard Grants.isBundle(bundle) else { return Grants.wrongBundle(bundle) }
        var expires: Int64?
        if let text = self.expires {
            let now = SystemTime.now().sec
            guard let time = GrantTime.seconds(text, now: now) else {
                return Grants.wrong("--expires \(escapedName(text.utf8)): expected \(GrantTime.forms)")
            }
            guard time > now else { return Grants.wrong("--expires \(escapedName(text.utf8)): that time has passed; nothing was granted") }
            expires = time
        }
        guard !paths.isEmpty else { return Grants.wrong(Grants.noPath) }
        var places: [(path: [UInt8], location: MountLocation)] = []
        do throws(ControlError) {
            for path in paths.map(\.bytes) { places.append((path, try Self.location(path))) }
        } catch { return Grants.wrong("\(error.message)\(paths.count > 1 ? "; nothing was granted" : "")") }
        func ask(_ location: MountLocation, isCheck: Bool = false) throws(ControlError) -> GrantAddAnswer {
            try location.client().ask(
                GrantAddMessage(
                    bundle: bundle, path: location.names, access: readOnly ? .readOnly : .readWrite,
                    expires: expires, isCheck: isCheck, follows: follow))
        }
        // All paths are checked before the first grant.
        if places.count > 1 || follow {
            let failed = Grants.each(places) { (place) throws(ControlError) in
                let answer = try ask(place.location, isCheck: true)
                // It would grant the place instead.
                if follow, !answer.follows {
                    throw ControlError("the daemon of this mount is older and has no --follow; unmount, and mount again with this aclfs")
                }
            } name: {
                $0.path
            }
            guard failed == 0 else { return places.count > 1 ? Grants.wrong("nothing was granted") : 2 }
        }
        return Grants.each(places) { (place) throws(ControlError) in
            for note in try ask(place.location).notes ?? [] { printError("aclfs: warning: \(escapedText(note))") }
        } name: {
            $0.path
        }
    }

    /// The target of a link. If the view hides it, the path as written.
    private static func location(_ path: [UInt8]) throws(ControlError) -> MountLocation {
        do throws(ControlError) { return try MountLocation(path, isFollowed: true) } catch {
            return try MountLocation(path, isAsWritten: true)
        }
    }
}
