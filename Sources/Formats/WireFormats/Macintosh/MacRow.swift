import ACLFormats
import Authorization

/// One row of a listing, and the lines below it.
struct MacRow {
    /// Why a row is no object.
    struct Unknown: Error {
        var reason: String
    }

    /// A line below a row.
    enum Below {
        /// With `-@`: a tab, the name, a tab, the size.
        case attribute([UInt8])
        /// With `-e`: a blank, the position, a colon.
        case entry(Int)

        init?(_ line: ArraySlice<UInt8>) {
            if line.first == 0x09 {
                self = .attribute(Array(line.dropFirst().prefix { $0 != 0x09 }))
                return
            }
            let rest = line.drop { $0 == UInt8(ascii: " ") }
            let digits = rest.prefix { MacRow.isDigit($0) }
            guard rest.startIndex > line.startIndex, (1...3).contains(digits.count), line[digits.endIndex...].starts(with: ": ".utf8) else {
                return nil
            }
            self = .entry(digits.reduce(0) { $0 * 10 + Int($1 - 0x30) })
        }
    }

    private(set) var line = 0
    let kind: ObjectKind
    private let mode: FileMode
    /// `@`, `+` or a blank behind the mode.
    private let mark: UInt8
    private let owner: [UInt8]
    private let group: [UInt8]
    /// nil without -O.
    private let flags: [UInt8]?
    private(set) var name: [UInt8] = []
    private(set) var isLinkUnclear = false
    var attributes: [[UInt8]] = []
    var entries: [ACE] = []

    /// Whether the row itself says that there is a list.
    var hasList: Bool { mark == UInt8(ascii: "+") }

    // MARK: Reading

    init?(_ line: ArraySlice<UInt8>, at number: Int) {
        var rest = line
        guard let (kind, mode) = Self.mode(rest.prefix(10)), let mark = rest.dropFirst(10).first, "@+ %".utf8.contains(mark) else {
            return nil
        }
        (self.line, self.kind, self.mode, self.mark) = (number, kind, mode, mark)
        rest = rest.dropFirst(11)
        // The number of links.
        guard let links = Self.word(&rest), links.allSatisfy(Self.isDigit) else { return nil }
        rest = rest.dropFirst(rest.first == UInt8(ascii: " ") ? 1 : 0)
        guard let names = Self.names(rest) ?? Self.plainNames(rest) else { return nil }
        (owner, group, flags, rest) = names
        guard let name = Self.name(afterDate: rest) else { return nil }
        let arrow = Array(" -> ".utf8)
        guard kind == .symlink else {
            self.name = Array(name)
            return
        }
        var places: [Int] = []
        for place in name.indices where name[place...].starts(with: arrow) { places.append(place) }
        isLinkUnclear = places.count != 1
        self.name = Array(name[..<(places.first ?? name.endIndex)])
    }

    /// Two blanks end owner and group, which may contain single ones.
    private static func names(
        _ line: ArraySlice<UInt8>
    ) -> (owner: [UInt8], group: [UInt8], flags: [UInt8]?, rest: ArraySlice<UInt8>)? {
        var rest = line
        guard let owner = column(&rest), let group = column(&rest), let (flags, after) = sizeAndFlags(rest) else { return nil }
        return (owner, group, flags, after)
    }

    /// Columns whose blanks were lost, with names of one word.
    private static func plainNames(
        _ line: ArraySlice<UInt8>
    ) -> (owner: [UInt8], group: [UInt8], flags: [UInt8]?, rest: ArraySlice<UInt8>)? {
        var rest = line
        guard let owner = word(&rest), let group = word(&rest), let (flags, after) = sizeAndFlags(rest) else { return nil }
        return (Array(owner), Array(group), flags, after)
    }

    private static func column(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        let blank = UInt8(ascii: " ")
        guard rest.first != blank, let end = rest.indices.dropLast().first(where: { rest[$0] == blank && rest[$0 + 1] == blank }) else {
            return nil
        }
        let column = Array(rest[..<end])
        rest = rest[end...].drop { $0 == blank }
        return column.isEmpty ? nil : column
    }

    /// A size begins with a digit, and a word of flags never does.
    private static func sizeAndFlags(_ line: ArraySlice<UInt8>) -> (flags: [UInt8]?, rest: ArraySlice<UInt8>)? {
        var rest = line
        guard var size = word(&rest) else { return nil }
        var flags: [UInt8]?
        if let first = size.first, !isDigit(first) {
            flags = Array(size)
            guard let next = word(&rest) else { return nil }
            size = next
        }
        guard let first = size.first, isDigit(first) else { return nil }
        // Devices have two numbers in place of a size.
        if size.last == UInt8(ascii: ",") {
            guard let minor = word(&rest), minor.allSatisfy({ isDigit($0) || "abcdefx".utf8.contains($0) }) else { return nil }
        }
        return (flags, rest)
    }

    /// The date is two to four words of any language, of which the last is a time or a year. One blank follows, then the name.
    private static func name(afterDate line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var rest = line
        var sawDay = false
        for index in 0..<5 {
            guard let word = word(&rest) else { return nil }
            if index >= 1 && isClock(word) || index >= 2 && isYear(word) {
                // With -T a year follows the seconds.
                if word.count == 8, isClock(word) {
                    guard let year = Self.word(&rest), isYear(year) else { return nil }
                }
                guard rest.first == UInt8(ascii: " "), rest.count > 1, sawDay else { return nil }
                return rest.dropFirst()
            }
            // A whole date: 2026-11-26.
            if word.count == 10, isYear(word.prefix(4)), word.dropFirst(4).first == UInt8(ascii: "-") { sawDay = true }
            if let day = number(word.prefix { isDigit($0) }), (1...31).contains(day) { sawDay = true }
        }
        return nil
    }

    private static func isClock(_ word: ArraySlice<UInt8>) -> Bool {
        let parts = word.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        return (2...3).contains(parts.count) && parts.allSatisfy { (1...2).contains($0.count) && $0.allSatisfy(isDigit) }
    }
    private static func isYear(_ word: ArraySlice<UInt8>) -> Bool { word.count == 4 && word.allSatisfy(isDigit) }
    fileprivate static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        (1...2).contains(digits.count) ? digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
    }

    /// The next word, behind any blanks.
    private static func word(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let blank = UInt8(ascii: " ")
        let start = rest.drop { $0 == blank }
        let word = start.prefix { $0 != blank }
        rest = start[word.endIndex...]
        return word.isEmpty ? nil : word
    }

    private static func mode(_ text: ArraySlice<UInt8>) -> (ObjectKind, FileMode)? {
        let kinds: [(UInt8, ObjectKind)] = [
            (UInt8(ascii: "-"), .file), (UInt8(ascii: "d"), .directory), (UInt8(ascii: "l"), .symlink), (UInt8(ascii: "p"), .fifo),
            (UInt8(ascii: "s"), .socket), (UInt8(ascii: "c"), .characterDevice), (UInt8(ascii: "b"), .blockDevice),
        ]
        guard text.count == 10, let kind = kinds.first(where: { $0.0 == text.first })?.1 else { return nil }
        var bits: UInt16 = 0
        for (index, byte) in text.dropFirst().enumerated() {
            let bit: UInt16 = 0o400 >> UInt16(index)
            let special: UInt16 = 0o4000 >> UInt16(index / 3)
            switch (index % 3, byte) {
            case (_, UInt8(ascii: "-")): break
            case (0, UInt8(ascii: "r")), (1, UInt8(ascii: "w")), (2, UInt8(ascii: "x")): bits |= bit
            case (2, UInt8(ascii: "s")) where index < 8, (2, UInt8(ascii: "t")) where index == 8: bits |= bit | special
            case (2, UInt8(ascii: "S")) where index < 8, (2, UInt8(ascii: "T")) where index == 8: bits |= special
            default: return nil
            }
        }
        return (kind, FileMode(rawValue: bits))
    }

    /// An entry as it is shown. One with bits that have no word on this kind of object has no word at all.
    static func entry(_ line: ArraySlice<UInt8>, _ identities: ExportIdentities) throws(ACLTextError) -> ACE {
        do throws(ACLTextError) {
            return try ACLTextParser.parse(line, names: identities)[0]
        } catch {
            guard error.code == .noWords else { throw error }
            var entry = try ACLTextParser.parse(Array(line) + Array("read".utf8), names: identities)[0]
            entry.rights = []
            return entry
        }
    }

    // MARK: The object

    func object(_ path: [UInt8], _ identities: ExportIdentities) throws(Unknown) -> ExportedObject {
        var object = ExportedObject(path: path, kind: kind)
        do throws(ExportProblem) {
            object.owner = try identities.account(owner, .user, at: line)
            object.group = try identities.account(group, .group, at: line)
        } catch { throw Unknown(reason: "\(error.reason); the object is left out") }
        // A link's mode has no meaning.
        if kind != .symlink { object.mode = mode }
        let mark = "com.apple.metadata:com_apple_backup_excludeItem"
        if attributes.contains(where: { $0.elementsEqual(mark.utf8) }) { object.isExcluded = true }
        if let flags {
            let shown: FileFlags
            do { shown = try FileFlagsText.parseAttribute(flags) } catch { throw Unknown(reason: error.message) }
            object.flags = shown.subtracting(.noDump)
            if shown.contains(.noDump) { object.isExcluded = true }
            // Attributes may be there that are not listed.
            if object.isExcluded == nil, self.mark != UInt8(ascii: "@") || !attributes.isEmpty { object.isExcluded = false }
        }
        object.list = entries.isEmpty ? ExportedList.none : .entries(ACL(entries))
        return object
    }
}
