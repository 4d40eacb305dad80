import Authorization

/// The lines of one object in the text form, until its block ends.
struct ExportLines {
    private(set) var hasBegun = false
    /// Of the first line.
    private(set) var number = 0
    private var path: [UInt8] = []
    private var isUnread = false
    private var fields: [ExportWord: (value: [UInt8], line: Int)] = [:]
    private var entries: [(text: ArraySlice<UInt8>, line: Int)] = []
    private var size = 0

    mutating func begin(path: [UInt8], isUnread: Bool, at line: Int) {
        self = ExportLines()
        (hasBegun, number, self.path, self.isUnread) = (true, line, path, isUnread)
    }

    mutating func add(_ word: ExportWord, _ value: [UInt8], at line: Int) throws(ExportProblem) {
        guard isUnread == (word == .reason) else { throw ExportProblem(line: line, "'\(word.rawValue)' does not belong here") }
        guard fields[word] == nil else { throw ExportProblem(line: line, "'\(word.rawValue)' appears twice") }
        fields[word] = (value, line)
    }

    mutating func addEntry(_ text: ArraySlice<UInt8>, at line: Int) throws(ExportProblem) {
        if isUnread { throw ExportProblem(line: line, "an object that was not read has no entries") }
        size += text.count + 1
        // With a line for the flags of the list.
        guard entries.count <= ACL.maximumEntryCount, size <= ACLAttributeText.maximumLength else {
            throw ExportProblem(
                line: line, "a list has at most \(ACL.maximumEntryCount) entries and \(ACLAttributeText.maximumLength) bytes")
        }
        entries.append((text, line))
    }

    /// Ends the block.
    mutating func take(_ identities: ExportIdentities) throws(ExportProblem) -> ExportItem {
        defer { self = ExportLines() }
        if isUnread {
            guard let reason = fields[.reason] else { throw ExportProblem(line: number, "'# reason:' is missing") }
            return .unread(path, escapedText(reason.value))
        }
        guard let kind = fields[.kind] else { throw ExportProblem(line: number, "'# kind:' is missing") }
        guard let word = ObjectKind(exportWord: kind.value) else {
            throw ExportProblem(line: kind.line, "'\(escapedName(kind.value.prefix(200)))' is not a kind of object")
        }
        var object = ExportedObject(path: path, kind: word)
        if let backup = fields[.backup] { try ExportFields.setBackup(backup.value, of: &object, at: backup.line) }
        for (word, field) in [
            (ExportWord.owner, fields[.owner]), (.group, fields[.group]), (.mode, fields[.mode]), (.flags, fields[.flags]),
        ] {
            if let field { try ExportFields.set(word, field.value, of: &object, identities, at: field.line) }
        }
        object.list = try list(identities, isDirectory: word == .directory)
        return .object(object)
    }

    private func list(_ identities: ExportIdentities, isDirectory: Bool) throws(ExportProblem) -> ExportedList? {
        let word = fields[.acl]
        if let word {
            let isNone = word.value.elementsEqual(ExportWord.none.utf8)
            guard isNone || word.value.elementsEqual(ExportWord.empty.utf8) else {
                throw ExportProblem(
                    line: word.line, "'\(escapedName(word.value.prefix(200)))' is neither '\(ExportWord.none)' nor '\(ExportWord.empty)'")
            }
            if isNone {
                if let entry = entries.first { throw ExportProblem(line: entry.line, "an entry of an object that is said to have no list") }
                return ExportedList.none
            }
        }
        if word == nil, entries.isEmpty { return nil }
        let text = Array(entries.map(\.text).joined(separator: [0x0A]))
        let acl: ACL
        do throws(ACLTextError) { acl = try ACLAttributeText.parse(text, names: identities, isDirectory: isDirectory) } catch {
            var error = error
            let line = error.line <= entries.count ? entries[max(0, error.line - 1)].line : number
            error.line = 1
            throw ExportProblem(line: line, error.message)
        }
        if let word, !acl.entries.isEmpty { throw ExportProblem(line: word.line, "the list is said to be empty, and has entries") }
        return .entries(acl)
    }
}

/// The fields that both forms have.
enum ExportFields {
    /// Sets the field of a word. The mark of backups is set before the flags.
    static func set(
        _ word: ExportWord, _ value: [UInt8], of object: inout ExportedObject, _ identities: ExportIdentities, at line: Int
    ) throws(ExportProblem) {
        switch word {
        case .owner: object.owner = try identities.account(value, .user, at: line)
        case .group: object.group = try identities.account(value, .group, at: line)
        case .mode:
            guard let mode = ExportValue.mode(value) else {
                throw ExportProblem(line: line, "'\(escapedName(value.prefix(200)))' is not a mode from 0000 to 7777")
            }
            object.mode = mode
        default:
            let flags: FileFlags
            do { flags = try FileFlagsText.parseAttribute(value) } catch { throw ExportProblem(line: line, error.message) }
            guard object.take(shownFlags: flags) else {
                throw ExportProblem(line: line, "the flag nodump contradicts '# backup: included'")
            }
        }
    }

    static func setBackup(_ value: [UInt8], of object: inout ExportedObject, at line: Int) throws(ExportProblem) {
        guard let isExcluded = ExportValue.backup(value) else {
            throw ExportProblem(
                line: line, "'\(escapedName(value.prefix(200)))' is neither '\(ExportWord.excluded)' nor '\(ExportWord.included)'")
        }
        object.isExcluded = isExcluded
    }
}
