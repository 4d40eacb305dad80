import ACLFormats
import FoundationEssentials
import ProfileFiles
import SandboxPolicy

/// An Apple `.entitlements` property list, XML or binary.
public enum EntitlementsFile {
    /// - Throws: `unreadable` or `malformed`, with the path.
    public static func read(_ path: String) throws(ProfileProblem) -> Entitlements {
        try ProfileFile.entitlements(path, by: entitlements)
    }

    /// - Throws: the error, without a file name.
    public static func entitlements(_ bytes: [UInt8]) throws(ProfileProblem) -> Entitlements {
        let outline: PropertyListOutline
        do { outline = try PropertyListOutline(bytes) } catch { throw ProfileProblem(.malformed, error.message) }
        guard outline.top == "dict" else {
            let found = outline.top.isEmpty ? "empty" : "a value of type '\(escapedName(outline.top.utf8))'"
            throw ProfileProblem(.malformed, "its top is \(found); it must be a dictionary (<dict>) of keys and values")
        }
        if let key = outline.repeatedKey {
            throw ProfileProblem(
                .malformed, "the key '\(escapedName(key.utf8))' stands twice, so its meaning is ambiguous; keep one")
        }
        let values = try decoded(bytes)
        // Two spellings of one key, for example with a character reference.
        guard values.count == outline.keys.count else {
            throw ProfileProblem(.malformed, "\(outline.keys.count) keys, but only \(values.count) different ones")
        }
        do { return try Entitlements(values.mapValues { $0.value }) } catch {
            throw ProfileProblem(
                .malformed, "key \(escapedName(error.key.utf8)): \(escapedName(error.message.utf8))")
        }
    }

    private static func decoded(_ bytes: [UInt8]) throws(ProfileProblem) -> [String: DecodedValue] {
        do {
            return try PropertyListDecoder().decode([String: DecodedValue].self, from: Data(bytes))
        } catch {
            let fault = PropertyListOutline.declarationFault(of: bytes).map { ": \($0)" } ?? reason(error)
            throw ProfileProblem(.malformed, "not a property list that can be read\(fault)")
        }
    }

    /// The parser's text about the error.
    private static func reason(_ error: any Error) -> String {
        guard case DecodingError.dataCorrupted(let context) = error else { return "" }
        guard let cause = context.underlyingError as? CocoaError,
            let text = cause.userInfo["NSDebugDescription"] as? String
        else { return "" }
        // The parser's line numbers are wrong. An error that it finds after the outline is valid is in the text of one value.
        let start = [" on line ", " at line "].compactMap { text.firstRange(of: $0)?.lowerBound }.min() ?? text.endIndex
        return ": " + escapedName(text[..<start].utf8)
    }
}

extension SandboxProfile {
    /// Reads and compiles a profile in this process.
    public static func read(
        _ profile: String, bundle: String?, home: [[UInt8]], layout: ContainerLayout
    ) throws(ProfileProblem) -> SandboxProfile {
        try read(profile, bundle: bundle, home: home, layout: layout, by: EntitlementsFile.entitlements)
    }
}

/// A value with its type in the list: the text "true" is no truth value.
private struct DecodedValue: Decodable {
    var value: EntitlementValue

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let flag = try? container.decode(Bool.self) {
            value = .flag(flag)
        } else if let text = try? container.decode(String.self) {
            value = .text(text)
        } else if let values = try? container.decode([DecodedValue].self) {
            value = .list(values.map { $0.value })
        } else {
            value = .other
        }
    }
}
