import Authorization

/// A line of JSON of an export.
struct ExportJSON {
    enum Form { case header, name, object, unread, end }

    private let members: [JSON.Member]
    private var json: JSON { .object(members) }

    init(_ members: [JSON.Member]) { self.members = members }

    /// What the line is, by its members.
    /// - Throws: it has none of the forms, or a member that its form lacks.
    func form(at line: Int) throws(ExportProblem) -> Form {
        let names = members.map(\.name)
        func has(_ word: ExportWord) -> Bool { names.contains(word.rawValue) || names.contains("\(word.rawValue)_b64") }
        let (form, known): (Form, [ExportWord])
        if has(.aclfs) {
            (form, known) = (.header, [.aclfs, .version, .source, .order, .entries])
        } else if has(.uuid) {
            (form, known) = (.name, [.name, .uuid])
        } else if has(.path) {
            (form, known) = (.object, [.path, .kind, .owner, .group, .mode, .flags, .backup, .acl])
        } else if has(.unread) {
            (form, known) = (.unread, [.unread, .reason])
        } else if has(.end) {
            (form, known) = (.end, [.end])
        } else {
            throw ExportProblem(line: line, "neither an object, a name nor the end of an export")
        }
        let asBytes = [ExportWord.source, .path, .unread].map { "\($0.rawValue)_b64" }
        let words = known.map(\.rawValue)
        guard
            let other = names.first(where: { name in
                !words.contains(name) && !(asBytes.contains(name) && words.contains(String(name.dropLast(4))))
            })
        else { return form }
        let near = nearestWord(to: other.utf8, in: words).map { "; did you mean '\($0)'?" } ?? ""
        throw ExportProblem(line: line, "'\(escapedName(other.utf8.prefix(200)))' does not belong here\(near)")
    }

    /// As the text form has it.
    var headerText: String {
        "\(json[ExportWord.aclfs.rawValue]?.string ?? "") \(json[ExportWord.version.rawValue]?.integer.map(String.init) ?? "")"
    }

    /// - Returns: the object, or the one that was not read.
    func item(_ identities: ExportIdentities, at line: Int) throws(ExportProblem) -> ExportItem {
        if json.hasPath(ExportWord.unread.rawValue) {
            guard let path = json.path(ExportWord.unread.rawValue), let reason = json[ExportWord.reason.rawValue]?.string else {
                throw ExportProblem(line: line, "the path or the reason is missing")
            }
            return .unread(path, escapedText(reason))
        }
        guard let path = json.path(ExportWord.path.rawValue) else { throw ExportProblem(line: line, "'path' is not a path") }
        guard let kind = try text(.kind, line), let word = ObjectKind(exportWord: kind) else {
            throw ExportProblem(line: line, "'kind' is not a kind of object")
        }
        var object = ExportedObject(path: path, kind: word)
        if let backup = try text(.backup, line) { try ExportFields.setBackup(backup, of: &object, at: line) }
        for word in [ExportWord.owner, .group, .mode, .flags] {
            if let value = try text(word, line) { try ExportFields.set(word, value, of: &object, identities, at: line) }
        }
        object.list = try list(identities, isDirectory: object.kind == .directory, line)
        return .object(object)
    }

    private func list(_ identities: ExportIdentities, isDirectory: Bool, _ line: Int) throws(ExportProblem) -> ExportedList? {
        guard let value = json[ExportWord.acl.rawValue] else { return nil }
        if case .null = value { return ExportedList.none }
        guard let entries = value.array else { throw ExportProblem(line: line, "'acl' is neither null nor an array of entries") }
        var text: [UInt8] = []
        for entry in entries {
            // An entry with a line feed would be several.
            guard let entry = entry.string, !entry.isEmpty, !entry.utf8.contains(0x0A) else {
                throw ExportProblem(line: line, "an element of 'acl' is not an entry")
            }
            text += Array(entry.utf8) + [0x0A]
        }
        do throws(ACLTextError) {
            return .entries(try ACLAttributeText.parse(text, names: identities, isDirectory: isDirectory))
        } catch {
            let index = error.line - 1
            var error = error
            error.line = 1
            throw ExportProblem(line: line, "entry \(index): \(error.message)")
        }
    }

    private func text(_ word: ExportWord, _ line: Int) throws(ExportProblem) -> [UInt8]? {
        guard let value = json[word.rawValue] else { return nil }
        guard let text = value.string else { throw ExportProblem(line: line, "'\(word.rawValue)' is not a string") }
        return Array(text.utf8)
    }
}
