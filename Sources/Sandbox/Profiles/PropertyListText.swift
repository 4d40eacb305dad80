// The XML form, element by element. Foundation's parser reports every error in line 1, and stops at </plist>.
extension PropertyListOutline {
    /// An open element.
    private struct Element {
        var name: String
        var start: Int
        /// The last key of a dictionary has no value yet.
        var awaitsValue = false
        var count = 0

        /// Whether it contains text and no elements.
        var isText: Bool { !["plist", "dict", "array"].contains(name) }
    }

    private static let names: Set = [
        "plist", "dict", "array", "key", "string", "integer", "real", "true", "false", "date", "data",
    ]

    mutating func readXML(_ bytes: ArraySlice<UInt8>) throws(Wrong) {
        var (rest, open) = (bytes, [Element]())
        var hasEnded = false
        func wrong(_ place: Int, _ message: String) -> Wrong {
            let line = 1 + bytes[..<place].reduce(0) { $0 + ($1 == 0x0A ? 1 : 0) }
            return Wrong("not a property list that can be read: line \(line): \(message)")
        }
        func check(text: ArraySlice<UInt8>) throws(Wrong) {
            if let inner = open.last, inner.isText, inner.name != "true", inner.name != "false" {
                for place in text.indices where text[place] == UInt8(ascii: "&") && !Self.isEntity(text[(place + 1)...]) {
                    throw wrong(place, "an & that begins no known entity; the character itself is written &amp;")
                }
                return
            }
            guard let place = text.firstIndex(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else { return }
            throw wrong(place, hasEnded ? "text after the end of the list" : "text outside of a value")
        }
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            try check(text: rest[..<start])
            rest = rest[start...]
            if rest.starts(with: "<!--".utf8) {
                guard Self.skip(&rest, past: "-->") else { throw wrong(start, "a comment has no end (-->)") }
            } else if rest.starts(with: "<![CDATA[".utf8) {
                guard open.last?.isText == true else { throw wrong(start, "text outside of a value") }
                guard Self.skip(&rest, past: "]]>") else { throw wrong(start, "a CDATA section has no end (]]>)") }
            } else if rest.starts(with: "<?".utf8) {
                guard Self.skip(&rest, past: "?>") else { throw wrong(start, "<? has no end (?>)") }
            } else {
                guard let tag = Self.tag(&rest) else { throw wrong(start, "a tag has no end (>)") }
                if tag.first == UInt8(ascii: "!") {
                    guard !tag.contains(UInt8(ascii: "[")) else { throw Wrong("its DOCTYPE declares entities of its own") }
                    continue
                }
                let isEnd = tag.first == UInt8(ascii: "/")
                let word = tag.dropFirst(isEnd ? 1 : 0).prefix { $0 > 0x20 && $0 != UInt8(ascii: "/") }
                let name = String(decoding: word, as: UTF8.self)
                if isEnd {
                    guard let element = open.popLast() else { throw wrong(start, "</\(name)> ends nothing") }
                    guard element.name == name else {
                        throw wrong(start, "</\(name)> where </\(element.name)> must stand, the end of <\(element.name)>")
                    }
                    if element.awaitsValue { throw wrong(start, "the last key of this <dict> has no value") }
                    hasEnded = open.isEmpty
                    continue
                }
                if hasEnded { throw wrong(start, "<\(name)> after the end of the list") }
                guard Self.names.contains(name) else { throw wrong(start, "'\(name)' is no element of a property list") }
                if let fault = place(name, in: &open, rest) { throw wrong(start, fault) }
                if tag.last == UInt8(ascii: "/") {
                    hasEnded = open.isEmpty
                    continue
                }
                open.append(Element(name: name, start: start))
                guard open.count <= Self.deepest else { throw Wrong("its values are nested deeper than \(Self.deepest)") }
            }
        }
        if let element = open.last { throw wrong(element.start, "<\(element.name)> has no end (</\(element.name)>)") }
        try check(text: rest)
    }

    /// - Returns: the error in an element of this name here; nil = none.
    private mutating func place(_ name: String, in open: inout [Element], _ rest: ArraySlice<UInt8>) -> String? {
        if top.isEmpty, name != "plist" { top = name }
        guard let outer = open.indices.last else { return nil }
        let parent = open[outer]
        if name == "plist" { return "<plist> inside of <\(parent.name)>" }
        open[outer].count += 1
        switch parent.name {
        case "plist":
            if parent.count > 0 { return "a second value; <plist> holds one" }
        case "dict":
            if (name == "key") == parent.awaitsValue {
                return parent.awaitsValue ? "a <key> where the value of the key before must stand" : "a <\(name)> without a <key>"
            }
            open[outer].awaitsValue.toggle()
            guard name == "key", open.filter({ $0.name != "plist" }).count == 1 else { return nil }
            keys.append(String(decoding: rest.prefix { $0 != UInt8(ascii: "<") }, as: UTF8.self))
        case "array":
            if name == "key" { return "a <key> in an <array>" }
        default: return "<\(name)> inside of <\(parent.name)>, which holds text"
        }
        return nil
    }

    /// Whether the text after an ampersand is an entity of XML itself, or a number.
    private static func isEntity(_ text: ArraySlice<UInt8>) -> Bool {
        let name = text.prefix(12).prefix { $0 != UInt8(ascii: ";") }
        guard name.endIndex < text.endIndex, text[name.endIndex] == UInt8(ascii: ";") else { return false }
        return name.first == UInt8(ascii: "#") || ["amp", "lt", "gt", "quot", "apos"].contains { name.elementsEqual($0.utf8) }
    }

    /// The text between `<` and `>`; a `>` in a quoted attribute does not end it. nil: there is no end.
    private static func tag(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var quote: UInt8?
        for end in (rest.startIndex + 1)..<rest.endIndex {
            let byte = rest[end]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                defer { rest = rest[(end + 1)...] }
                return rest[(rest.startIndex + 1)..<end]
            }
        }
        return nil
    }

    /// - Returns: whether the mark was found.
    private static func skip(_ rest: inout ArraySlice<UInt8>, past end: String) -> Bool {
        let mark = Array(end.utf8)
        for index in rest.indices where rest[index...].starts(with: mark) {
            rest = rest[(index + mark.count)...]
            return true
        }
        return false
    }
}
