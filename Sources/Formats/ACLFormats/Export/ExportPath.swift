/// Paths of an export: relative, and of names only.
public enum ExportPath {
    /// In bytes. An undo file can hold it too.
    public static let longest = 16_384
    public static let top: [UInt8] = [UInt8(ascii: ".")]
    private static let slash = UInt8(ascii: "/")

    /// Why a path is none; nil if it is one.
    public static func problem(_ path: [UInt8]) -> String? {
        if path == top { return nil }
        if path.count > longest { return "the path has \(path.count) bytes; at most \(longest) are allowed" }
        if path.contains(0) { return "the path contains a byte of zero" }
        let dot = UInt8(ascii: ".")
        let names = path.split(separator: slash, omittingEmptySubsequences: false)
        guard names.contains(where: { $0.isEmpty || $0 == [dot] || $0 == [dot, dot] }) else { return nil }
        return "the path '\(escapedName(path.prefix(200)))' must be relative, without empty names, '.' and '..'"
    }

    /// The order of a sorted export: names are compared one by one, as bytes, and a directory comes before its contents.
    public static func precedes(_ path: [UInt8], _ other: [UInt8]) -> Bool {
        if path == other || other == top { return false }
        if path == top { return true }
        for (byte, otherByte) in zip(path, other) where byte != otherByte {
            // The end of a name comes before every longer name.
            if byte == slash { return true }
            return otherByte != slash && byte < otherByte
        }
        return path.count < other.count
    }

    /// Whether an object is below a directory.
    public static func isBelow(_ path: [UInt8], _ directory: [UInt8]) -> Bool {
        if path == directory { return false }
        if directory == top { return true }
        return path.count > directory.count && path[directory.count] == slash && path.starts(with: directory)
    }

    /// A path as a line of text. Blanks at the ends would be lost in editors.
    static func text(_ path: [UInt8]) -> String {
        let blank = UInt8(ascii: " ")
        let start = path.prefix { $0 == blank }.count
        let end = start == path.count ? 0 : path.reversed().prefix { $0 == blank }.count
        let escape = "\\x20"
        return String(repeating: escape, count: start) + escapedName(path[start..<(path.count - end)])
            + String(repeating: escape, count: end)
    }
}
