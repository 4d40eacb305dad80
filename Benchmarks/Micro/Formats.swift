import ACLFormats
import Authorization

/// Stored and written forms: the record is read once for each object, the texts by commands.
enum Formats {
    static func run(_ bench: inout Bench) {
        for count in [0, 8, 128] {
            let record = MetadataRecord(flags: .userImmutable, acl: count == 0 ? nil : Decisions.acl(count))
            guard let bytes = try? record.encoded() else { fatalError("a record of \(count) entries is not encoded") }
            let words = count == 0 ? "flags alone" : "\(count) entries"
            bench.measure("record decoded, \(words)") { _ in
                guard let decoded = try? MetadataRecord(decoding: bytes) else { return 0 }
                return UInt64(decoded.acl?.entries.count ?? 1)
            }
            bench.measure("record encoded, \(words)") { _ in UInt64((try? record.encoded())?.count ?? 0) }
        }
        for count in [1, 8, 126] {
            let list = Decisions.acl(count)
            let text = ACLAttributeText.write(list, isDirectory: false, names: NumberedNames())
            let words = count == 1 ? "1 entry" : "\(count) entries"
            // The same words in the order in which they are typed.
            if text.count <= ACLTextParser.maximumLength {
                bench.measure("typed text read, \(words)") { _ in
                    UInt64((try? ACLTextParser.parse(text, names: NumberedNames()))?.count ?? 0)
                }
            }
            bench.measure("attribute text read, \(words)") { _ in
                UInt64((try? ACLAttributeText.parse(text, names: NumberedNames()))?.entries.count ?? 0)
            }
            bench.measure("attribute text written, \(words)") { _ in
                UInt64(ACLAttributeText.write(list, isDirectory: false, names: NumberedNames()).count)
            }
            bench.measure("list as ls shows it, \(words)") { _ in
                UInt64(ACLTextPrinter.lines(list, isDirectory: false, names: NumberedNames()).count)
            }
        }
        let flags = Array("uchg,hidden,nodump".utf8)
        bench.measure("flag words read") { _ in
            UInt64((try? FileFlagsText.parseAttribute(flags))?.rawValue ?? 0)
        }
        let message = Array(#"{"v":1,"command":"explain","as":"bob","operation":"open-read","path":"dir/file"}"#.utf8)
        bench.measure("control message read") { _ in (try? JSONText.parse(message)) == nil ? 0 : 1 }
    }
}

/// Names that are made and understood without asking anybody, so that no account database is measured.
struct NumberedNames: IdentityNames {
    func identity(named name: String, kind: IdentityKind?) -> GUID? {
        UInt32(name.dropFirst()).map { GUID(group: $0) }
    }
    func name(of identity: GUID) -> IdentityName? {
        if case .group(let gid) = Principal(identity) { IdentityName(.group, "g\(gid)") } else { nil }
    }
}
