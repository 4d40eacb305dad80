import ArgumentParser
import ControlProtocol
import ToolSupport

/// `aclfs sandbox grant remove`: removes grants of paths.
struct GrantRemove: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant remove", abstract: "Revokes grants at once.",
        usage: "aclfs sandbox grant remove --bundle ID [--below] PATH ...")

    @Option(help: ArgumentHelp("The bundle identifier of the application.", valueName: "ID")) var bundle: String
    @Flag(help: "Also revoke all grants for paths below PATH.") var below = false
    @Argument(help: ArgumentHelp("The path as it was granted; it need not exist any more.", valueName: "PATH")) var paths: [ByteWord]

    /// - Returns: the exit status: 0 done, 1 some paths failed, 2 nothing was done.
    func perform() -> Int32 {
        guard Grants.isBundle(bundle) else { return Grants.wrongBundle(bundle) }
        guard !paths.isEmpty else { return Grants.wrong(Grants.noPath) }
        return Grants.each(paths.map(\.bytes)) { (path) throws(ControlError) in
            func ask(_ location: MountLocation) throws(ControlError) {
                _ = try location.client().ask(
                    GrantRemoveMessage(bundle: bundle, path: location.names, isBelow: below))
            }
            let written = try MountLocation(path, isAsWritten: true)
            do throws(ControlError) { try ask(written) } catch {
                // `add` follows links, so the grant may be for the target of this one.
                guard let led = try? MountLocation(path, isFollowed: true), led.path != written.path else { throw error }
                do throws(ControlError) { try ask(led) } catch _ { throw error }
            }
        } name: {
            $0
        }
    }
}
