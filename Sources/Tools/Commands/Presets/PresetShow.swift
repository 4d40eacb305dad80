import ACLFormats
import ArgumentParser
import Glibc
import ToolSupport

/// `aclfs preset show [PRESET [DIRECTORY]]`: the presets, or what one would set and what people can do then.
struct PresetShow: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs preset show", abstract: "The presets; or the entries of one, and what owner, members and others can do then.",
        usage: "aclfs preset show [--json] [--group GROUP] [--offline] [--metadata WHERE] [PRESET [DIRECTORY]]")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(help: ArgumentHelp("Whose members the entries name; by default the group of the directory.", valueName: "GROUP")) var group:
        String?
    @OptionGroup var backing: BackingOptions
    @Argument(help: ArgumentHelp("One of drop-box, append-only, no-delete, team-share, read-only or public.", valueName: "PRESET"))
    var preset: String?
    @Argument(help: ArgumentHelp("By default the working directory.", valueName: "DIRECTORY")) var directory: ByteWord?

    func perform() throws(CommandFailure) -> Int32 {
        guard let name = self.preset else {
            if json {
                let all = Preset.allCases.map {
                    JSON.object([.init("preset", .string($0.rawValue)), .init("summary", .string($0.summary))])
                }
                sink.output(JSONText.write(.array(all)) + [0x0A])
            } else {
                for preset in Preset.allCases { sink.line("\(preset.rawValue): \(preset.summary)") }
            }
            return 0
        }
        let preset = try Presets.preset(name)
        let operand = directory?.bytes ?? [UInt8(ascii: ".")]
        var options = TreeOptions(metadata: backing.metadata, isOffline: backing.offline)
        // It changes nothing: unless a directory is named, the preset itself is asked about.
        if directory == nil, !options.isOffline {
            options.isOffline = true
            if geteuid() != 0, options.metadata == nil, try MountedTree(operand) == nil { options.metadata = "user" }
        }
        let tree = try TreeCommand(self, options, ByteWord(bytes: operand)).tree(needsDirectory: true)
        if directory != nil { try Presets.requireEffect(tree, operand) }
        PresetText(try PresetPlan(preset, tree, operand, group: group), isJSON: json, sink).show()
        return 0
    }
}
