import ArgumentParser
import SandboxPolicy

struct SandboxRunArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox run",
        abstract: "Runs a command that sees a share only as a profile lets it.",
        usage: "aclfs sandbox run PROFILE [--bundle ID] [--home PATH] [--layout macos|ios] [--mount MOUNTPOINT] -- COMMAND …")

    @Argument(help: ArgumentHelp("An installed name, or the path of an .entitlements file.", valueName: "PROFILE"))
    var profile: ByteWord
    @Option(help: ArgumentHelp("The application's bundle identifier; its container comes with it.", valueName: "ID"))
    var bundle: ByteWord?
    @Option(help: ArgumentHelp("Where its user's home is, from the mount's top, which it is by default.", valueName: "PATH"))
    var home: ByteWord?
    @Option(help: ArgumentHelp("How the container is divided: macos or ios.", valueName: "LAYOUT"))
    var layout: ByteWord?
    @Option(help: ArgumentHelp("The share; by default the one around the working directory, or the only one of root's or your own.", valueName: "MOUNTPOINT"))
    var mount: ByteWord?
}
