import ACLFormats
import ArgumentParser
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs acl export`: the metadata of a tree as text (docs/guide/export.md).
struct AclExport: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl export",
        abstract: "Writes lists, flags, owner, group, mode and backup state of an object and of all below it as text.",
        usage: """
            aclfs acl export [--json] [--sorted] [--numeric] [--offline] [--metadata WHERE] PATH
            aclfs acl export --from-mac [--json] [--sorted] LISTING|DIRECTORY
            """)

    @Flag(help: "A line of JSON for each object instead of text.") var json = false
    @Flag(help: "Names in the order of their bytes, so that equal trees give equal text.") var sorted = false
    @Flag(name: [.customShort("n"), .long], help: "UUIDs and numbers instead of names.") var numeric = false
    @Flag(help: "Read what a Mac made: the output of ls -leR@O, or the files ._NAME below a directory.") var fromMac = false
    @OptionGroup var backing: BackingOptions
    @Argument(help: ArgumentHelp("On a mount, or a backing directory.", valueName: "PATH")) var path: ByteWord

    /// - Returns: the exit status: 0, 1 if an object could not be read, 2 if nothing is exported.
    func perform() throws(CommandFailure) -> Int32 {
        var problems = 0
        func complain(_ text: String) {
            problems += 1
            sink.complain(text)
        }
        if fromMac {
            let source = try macSource(complain)
            let names = source.identities ?? ExportIdentities()
            try write(source, names: names, complain)
        } else {
            let source = try DirectorySource(
                path.bytes, isSorted: sorted, metadata: backing.metadata, isOffline: backing.offline)
            if numeric {
                try write(source, names: NoNames(), complain)
            } else {
                try write(source, names: SystemNames(), complain)
            }
        }
        return problems == 0 ? 0 : 1
    }

    private func macSource(_ complain: @escaping (String) -> Void) throws(CommandFailure)
        -> any ExportSource
    {
        if backing.metadata != nil || numeric { throw CommandFailure("--from-mac excludes --metadata and --numeric") }
        let file = try FileSource.open(path.bytes)
        let source: any ExportSource
        if (try? Syscall.statx(file.rawValue))?.isDirectory == true {
            source = try AppleDoubleSource(path.bytes, complain)
        } else {
            source = try FileSource(FileSource.shownName(path.bytes), file, takesListings: true, complain: complain)
        }
        return sorted ? try SortedSource(source) : source
    }

    /// - Throws: the source cannot be read to its end; then the end is missing in what was written.
    private func write(
        _ source: any ExportSource, names: some IdentityNames, _ complain: (String) -> Void
    ) throws(CommandFailure) {
        var writer = ExportWriter(json ? .json : .text, names: names)
        var buffer = writer.header(source.header)
        func flush() {
            sink.output(buffer)
            buffer.removeAll(keepingCapacity: true)
        }
        do throws(CommandFailure) {
            while let item = try source.next(), sink.isOpen() {
                if case .unread(let path, let reason) = item { complain("\(escapedName(path)): \(reason)") }
                buffer += writer.item(item)
                if buffer.count >= 65_536 { flush() }
            }
        } catch {
            flush()
            throw error
        }
        buffer += writer.end()
        flush()
    }
}
