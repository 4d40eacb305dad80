import ACLFormats
import Authorization

/// The metadata of objects, one after the other: of a directory, or of a file.
protocol ExportSource: AnyObject {
    /// As the user named it.
    var name: String { get }
    var header: ExportHeader { get }
    /// Names as this source knows them; nil: those of this host.
    var identities: ExportIdentities? { get }
    /// - Returns: nil at the end.
    /// - Throws: the rest cannot be read.
    func next() throws(CommandFailure) -> ExportItem?
}

/// The elements of an unsorted source, in the order of `ExportPath.precedes`. All of them are in memory.
final class SortedSource: ExportSource {
    let name: String
    let header: ExportHeader
    let identities: ExportIdentities?
    /// The next one last.
    private var items: [ExportItem] = []

    init(_ source: some ExportSource) throws(CommandFailure) {
        (name, identities) = (source.name, source.identities)
        while let item = try source.next() { items.append(item) }
        header = ExportHeader(source: source.header.source, isOrdered: true, isAsShown: source.header.isAsShown)
        items.sort { one, other in
            one.path == other.path ? !one.isUnread && other.isUnread : ExportPath.precedes(one.path, other.path)
        }
        for (item, following) in zip(items, items.dropFirst()) where item.path == following.path && item.isUnread == following.isUnread {
            throw CommandFailure("\(name): '\(escapedName(item.path))' appears twice")
        }
        items.reverse()
    }

    func next() -> ExportItem? { items.popLast() }
}

extension ExportItem {
    var isUnread: Bool { if case .unread = self { true } else { false } }
}
