// Entries, flags and bytes as text.

extension ModelTree {
    /// The words of rights in the order in which they are printed (docs/reference/authorization.md 1.1).
    private static let rightWords: [(file: String, directory: String)] = [
        ("read", "list"), ("write", "add_file"), ("execute", "search"), ("delete", "delete"),
        ("append", "add_subdirectory"), ("delete_child", "delete_child"), ("readattr", "readattr"),
        ("writeattr", "writeattr"), ("readextattr", "readextattr"), ("writeextattr", "writeextattr"),
        ("readsecurity", "readsecurity"), ("writesecurity", "writesecurity"), ("chown", "chown"),
    ]
    private static let inheritanceWords = ["file_inherit", "directory_inherit", "limit_inherit", "only_inherit"]
    private static let flagWords = [
        "sappnd", "arch", "schg", "sunlnk", "uappnd", "uchg", "nodump", "opaque", "hidden",
    ]
    private static let wellKnown = [
        "ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A": "owner", "ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000010": "group",
        "ABCDEFAB-CDEF-ABCD-EFAB-CDEFFFFFFFFE": "nobody",
    ]

    /// One entry a line, in the words of the attribute: `user:#501 inherited allow read,file_inherit`.
    static func entries(_ text: String) -> [ModelEntry] {
        text.split(separator: "\n").map { line in
            var words = line.split(separator: " ").map(String.init)
            let who = words.removeFirst().replacing("#", with: "")
            var entry = ModelEntry(who: wellKnown[who] ?? who, kind: "", rights: [])
            if words.first == "inherited" { entry.flags.insert(words.removeFirst()) }
            entry.kind = words.removeFirst()
            for word in words.removeFirst().split(separator: ",").map(String.init) {
                if inheritanceWords.contains(word) { entry.flags.insert(word) } else { entry.rights.insert(rightWord(word)) }
            }
            return entry
        }
    }

    func text(_ acl: [ModelEntry], isDirectory: Bool) -> String {
        var text = ""
        for entry in acl {
            var words = Self.rightWords.filter { entry.rights.contains($0.file) }.map { isDirectory ? $0.directory : $0.file }
            words += Self.inheritanceWords.filter { entry.flags.contains($0) }
            let inherited = entry.flags.contains("inherited") ? " inherited" : ""
            text += "\(shown(entry.who))\(inherited) \(entry.kind) \(words.joined(separator: ","))\n"
        }
        return text
    }

    private func shown(_ who: String) -> String {
        if who == "everyone" { return "group:everyone" }
        if let known = Self.wellKnown.first(where: { $0.value == who }) { return known.key }
        // A name only where there is one; else the UUID (1.4).
        return host.names[who] ?? Self.uuid(who)
    }

    private static func uuid(_ who: String) -> String {
        let words = who.split(separator: ":")
        let digits = String(UInt32(words[1]) ?? 0, radix: 16, uppercase: true)
        let number = String(repeating: "0", count: 8 - digits.count) + digits
        return (words[0] == "user" ? "FFFFEEEE-DDDD-CCCC-BBBB-AAAA" : "ABCDEFAB-CDEF-ABCD-EFAB-CDEF") + number
    }

    static func flagsText(_ flags: Set<String>) -> String {
        let words = flagWords.filter { flags.contains($0) }
        return words.isEmpty ? "-" : words.joined(separator: ",")
    }

    /// As aclfs-act prints bytes.
    static func escaped(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "\\") {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "\\"), UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
