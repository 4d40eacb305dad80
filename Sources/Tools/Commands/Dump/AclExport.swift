import ACLFormats
import Authorization
import LinuxSystem
import ToolSupport

/// A command line of `aclfs acl export`. Paths are bytes.
package struct AclExportRequest {
    var source: [UInt8]
    var json: Bool
    var isSorted: Bool
    /// UUIDs and numbers in place of names.
    var isNumeric: Bool
    /// The source is what a Mac made: a listing, or a directory with files `._NAME`.
    var isFromMac: Bool
    /// `auto`, `trusted` or `user`, as the mount option.
    var metadata: String?
    /// Also a path that lies on no mount.
    var isOffline: Bool

    package init(
        source: [UInt8], json: Bool, isSorted: Bool, isNumeric: Bool, isFromMac: Bool, metadata: String?, isOffline: Bool
    ) {
        (self.source, self.json, self.isSorted, self.isNumeric) = (source, json, isSorted, isNumeric)
        (self.isFromMac, self.metadata, self.isOffline) = (isFromMac, metadata, isOffline)
    }
}

/// `aclfs acl export`: the metadata of a tree as text (docs/guide/export.md).
package enum AclExport {
    /// - Returns: the exit status: 0, 1 if an object could not be read, 2 if nothing is exported.
    package static func perform(_ request: AclExportRequest, sink: OutputSink = .standard) -> Int32 {
        do throws(ExportFailure) {
            var problems = 0
            func complain(_ text: String) {
                problems += 1
                sink.complain(text)
            }
            if request.isFromMac {
                let source = try macSource(request, complain)
                let names = source.identities ?? ExportIdentities()
                try write(source, names: names, request, sink, complain)
            } else {
                let source = try DirectorySource(
                    request.source, isSorted: request.isSorted, metadata: request.metadata, isOffline: request.isOffline)
                if request.isNumeric {
                    try write(source, names: NoNames(), request, sink, complain)
                } else {
                    try write(source, names: SystemNames(), request, sink, complain)
                }
            }
            return problems == 0 ? 0 : 1
        } catch {
            sink.complain("acl export: \(error.message)")
            return 2
        }
    }

    private static func macSource(_ request: AclExportRequest, _ complain: @escaping (String) -> Void) throws(ExportFailure)
        -> any ExportSource
    {
        if request.metadata != nil || request.isNumeric { throw ExportFailure("--from-mac excludes --metadata and --numeric") }
        let file = try FileSource.open(request.source)
        let source: any ExportSource
        if (try? Syscall.statx(file.rawValue))?.isDirectory == true {
            source = try AppleDoubleSource(request.source, complain)
        } else {
            source = try FileSource(FileSource.shownName(request.source), file, takesListings: true, complain: complain)
        }
        return request.isSorted ? try SortedSource(source) : source
    }

    /// - Throws: the source cannot be read to its end; then the end is missing in what was written.
    private static func write(
        _ source: any ExportSource, names: some IdentityNames, _ request: AclExportRequest, _ sink: OutputSink, _ complain: (String) -> Void
    ) throws(ExportFailure) {
        var writer = ExportWriter(request.json ? .json : .text, names: names)
        var buffer = writer.header(source.header)
        func flush() {
            sink.output(buffer)
            buffer.removeAll(keepingCapacity: true)
        }
        do throws(ExportFailure) {
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
