import ACLFormats
import Authorization
import LinuxSystem
import WireFormats

/// An export in a file, or what `ls -leR@O` printed on a Mac. The file may be any bytes.
final class FileSource: ExportSource {
    private enum Form {
        case export(ExportParser)
        case listing(MacListing)
    }

    let name: String
    private(set) var header = ExportHeader(source: nil, isOrdered: false)
    var identities: ExportIdentities? { known }
    private let known = ExportIdentities()
    private var lines: FileLines
    private var form: Form
    /// Called with each line of a listing that is no object.
    private let complain: (String) -> Void
    private var waiting: [ExportItem] = []
    private var isAtEnd = false

    /// - Parameters:
    ///   - file: open for reading, at its beginning.
    ///   - takesListings: whether it may be a listing.
    init(_ name: String, _ file: SharedDescriptor, takesListings: Bool, complain: @escaping (String) -> Void) throws(CommandFailure) {
        (self.name, self.complain) = (name, complain)
        lines = FileLines(file)
        let first: ArraySlice<UInt8>?
        do { first = try lines.next(longest: ExportParser.longestLine) } catch { throw CommandFailure("\(name): \(error.text)") }
        guard let first else { throw CommandFailure("\(name): the file is empty") }
        if takesListings, !ExportParser.begins(first) {
            form = .listing(MacListing(known))
            header.isAsShown = true
        } else {
            form = .export(ExportParser(known))
        }
        try take(first)
        // The first lines say whether it is sorted.
        if case .export = form { while waiting.isEmpty, !isAtEnd { try read() } }
    }

    /// The name of a file for messages.
    static func shownName(_ path: [UInt8]) -> String { path.elementsEqual("-".utf8) ? "standard input" : escapedName(path) }

    /// Opens a file; `-` is standard input.
    static func open(_ path: [UInt8]) throws(CommandFailure) -> SharedDescriptor {
        do throws(Errno) {
            if path.elementsEqual("-".utf8) { return SharedDescriptor(try Syscall.dup(0)) }
            return SharedDescriptor(
                rawValue: try path.withCString { (path) throws(Errno) in
                    try Syscall.open(path, OpenFlag.readOnly | OpenFlag.closeOnExec).release()
                })
        } catch { throw CommandFailure("\(escapedName(path)): \(error.text)") }
    }

    func next() throws(CommandFailure) -> ExportItem? {
        while waiting.isEmpty, !isAtEnd { try read() }
        return waiting.isEmpty ? nil : waiting.removeFirst()
    }

    private func read() throws(CommandFailure) {
        let line: ArraySlice<UInt8>?
        do { line = try lines.next(longest: ExportParser.longestLine) } catch { throw CommandFailure("\(name): \(error.text)") }
        if let line { return try take(line) }
        isAtEnd = true
        switch form {
        case .export(let parser): do { try parser.finish() } catch { throw CommandFailure("\(name): \(error.message)") }
        case .listing(var listing): take(listing.finish())
        }
    }

    private func take(_ line: ArraySlice<UInt8>) throws(CommandFailure) {
        switch form {
        case .export(var parser):
            do {
                if let item = try parser.read(line) { waiting.append(item) }
            } catch {
                let cut = lines.endsCut ? "; the line is incomplete: the file was truncated there" : ""
                throw CommandFailure("\(name): \(error.message)\(cut)")
            }
            if let header = parser.header { self.header = header }
            form = .export(parser)
        case .listing(var listing):
            // One copy of its state, or each line would copy all directories that are known.
            form = .listing(MacListing(known))
            let items = listing.read(line)
            form = .listing(listing)
            take(items)
        }
    }

    private func take(_ items: [MacListing.Item]) {
        for item in items {
            switch item {
            case .object(let object): waiting.append(.object(object))
            case .problem(let problem): complain("\(name): \(problem.message)")
            }
        }
    }
}
