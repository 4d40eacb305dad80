import ACLFormats
import Authorization
import ControlProtocol
import Glibc
import Identity
import LinuxSystem
import ToolSupport

/// `aclfs preset` (docs/guide/presets.md). Each function returns the exit status.
package enum Presets {
    package static let names = Preset.allCases.map(\.rawValue)

    /// `aclfs preset apply NAME DIRECTORY`.
    /// - Parameter group: by name or number; nil: the directory's.
    package static func apply(
        _ name: String, _ directory: [UInt8], group: String?, _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        var options = options
        do throws(TreeRefusal) {
            let preset = try self.preset(name)
            let tree = try TreeCommand(name: "preset apply", options: options, operand: directory, sink: sink).tree(needsDirectory: true)
            try requireEffect(tree, directory)
            let kept = options.undoFile == nil && !options.isDryRun ? try PresetFiles().next(tree.identity) : nil
            options.undoFile = options.undoFile ?? kept
            // What changed nothing would stand before what the next undo should undo.
            defer { if let kept { PresetFiles.removeIfEmpty(kept) } }
            let command = TreeCommand(name: "preset apply", options: options, operand: directory, sink: sink)
            return command.perform(needsDirectory: true) { (tree) throws(TreeRefusal) in
                let plan = try PresetPlan(preset, tree, directory, group: group)
                let status = try command.run(tree, plan.change, .all)
                let isInForce = options.isDryRun || plan.isInForce(on: tree)
                if isInForce {
                    for entry in ACLTextPrinter.lines(plan.inherited, isDirectory: true, names: SystemNames()) {
                        sink.complain("warning: \(escapedName(directory)) no longer inherits\(entry.drop { $0 != ":" }.dropFirst())")
                    }
                }
                if status == 0 || !options.json && isInForce {
                    PresetText(plan, isJSON: options.json, sink).show()
                }
                return status
            }
        } catch {
            sink.complain("preset apply: \(error.message)")
            return 2
        }
    }

    /// `aclfs preset show [NAME [DIRECTORY]]`: the presets, or what one would set and what people can do then.
    package static func show(
        _ name: String?, _ directory: [UInt8]?, group: String?, _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        do throws(TreeRefusal) {
            guard let name else {
                if options.json {
                    let all = Preset.allCases.map {
                        JSON.object([.init("preset", .string($0.rawValue)), .init("summary", .string($0.summary))])
                    }
                    sink.output(JSONText.write(.array(all)) + [0x0A])
                } else {
                    for preset in Preset.allCases { sink.line("\(preset.rawValue): \(preset.summary)") }
                }
                return 0
            }
            let preset = try self.preset(name)
            let operand = directory ?? [UInt8(ascii: ".")]
            var options = options
            // It changes nothing: unless a directory is named, the preset itself is asked about.
            if directory == nil, !options.isOffline {
                options.isOffline = true
                if geteuid() != 0, options.metadata == nil, try MountedTree(operand) == nil { options.metadata = "user" }
            }
            let tree = try TreeCommand(name: "preset show", options: options, operand: operand, sink: sink).tree(needsDirectory: true)
            if directory != nil { try requireEffect(tree, operand) }
            PresetText(try PresetPlan(preset, tree, operand, group: group), isJSON: options.json, sink).show()
            return 0
        } catch {
            sink.complain("preset show: \(error.message)")
            return 2
        }
    }

    /// `aclfs preset undo DIRECTORY`: undoes the last preset that this user applied to it.
    package static func undo(_ directory: [UInt8], isForced: Bool, _ options: TreeOptions, sink: OutputSink = .standard) -> Int32 {
        do throws(TreeRefusal) {
            let tree = try TreeCommand(name: "preset undo", options: options, operand: directory, sink: sink).tree(needsDirectory: true)
            guard let file = try PresetFiles().newest(of: tree) else {
                throw TreeRefusal(
                    "this user has no preset to undo on \(escapedName(directory)); if it was applied with --undo-file, use aclfs restore")
            }
            let status = Restore.perform(
                RestoreRequest(
                    undoFile: file, source: directory, isDryRun: options.isDryRun, isForced: isForced,
                    includesHardLinks: options.includesHardLinks, isVerbose: options.isVerbose, json: options.json), sink: sink)
            if status == 0, !options.isDryRun {
                try? file.withCString { (path) throws(Errno) in try Syscall.unlinkat(Syscall.workingDirectory, path) }
            }
            return status
        } catch {
            sink.complain("preset undo: \(error.message)")
            return 2
        }
    }

    /// - Throws: the mount ignores entries or owners. A preset would only close the folder there, or protect nothing.
    private static func requireEffect(_ tree: any ChangeableTree, _ directory: [UInt8]) throws(TreeRefusal) {
        // A mount whose daemon does not answer takes no change either.
        guard tree.isMounted, let location = try? MountLocation(directory, isFollowed: true),
            let option = IgnoredRules.words(of: location).first
        else { return }
        throw TreeRefusal(
            "\(escapedName(directory)) lies on a mount with \(option), where a preset has no effect; mount it without that, "
                + "or remove the setting with aclfs volume --reset")
    }

    private static func preset(_ name: String) throws(TreeRefusal) -> Preset {
        if let preset = Preset(rawValue: name) { return preset }
        let near = nearestWord(to: name.utf8, in: names).map { "; did you mean '\($0)'?" } ?? ""
        throw TreeRefusal("'\(escapedName(name.utf8))' is not a preset\(near) (\(names.joined(separator: ", ")))")
    }
}
