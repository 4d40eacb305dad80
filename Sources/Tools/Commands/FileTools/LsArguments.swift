/// A command line of ls: the part of macOS' ls(1) that shows what aclfs stores.
struct LsArguments: Sendable, Hashable {
    enum Names: Sendable { case visible, almostAll, all }
    struct Order: Sendable, Hashable {
        enum Key: Sendable { case name, time, size }
        /// -t: the last modified first; -S: the largest first.
        var key = Key.name
        /// -r: the other way round.
        var isReversed = false
    }
    var isLong = false
    /// -e: entries of ACLs, below each line of -l.
    var showsACL = false
    /// -O: file flags, as a column of -l.
    var showsFlags = false
    /// -@: names and sizes of extended attributes, below each line of -l.
    var showsAttributes = false
    /// -d: directories themselves, not their contents.
    var listsDirectories = false
    var names = Names.visible
    var isRecursive = false
    /// -n: numbers for owner and group, UUIDs in entries.
    var isNumeric = false
    var followsAll = false
    var order = Order()
    /// -h: sizes with a unit.
    var isHuman = false
    var paths: [[UInt8]] = []

    static let usage = "usage: aclfs ls [-1@ALORSadehlnrt] [FILE...]"

    private static let long = [
        LongOption("--all", "a"), LongOption("--almost-all", "A"), LongOption("--directory", "d"), LongOption("--human-readable", "h"),
        LongOption("--dereference", "L"), LongOption("--numeric-uid-gid", "n"), LongOption("--reverse", "r"),
        LongOption("--recursive", "R"),
    ]

    /// - Parameter arguments: after the command's name.
    /// - Returns: `nil` for help.
    /// - Throws: the command line is wrong.
    static func parse(_ arguments: [[UInt8]]) throws(UsageError) -> LsArguments? {
        let options = try LetterOptions(arguments, known: "1@ALORSadehlnrt", long: long)
        if options.wantsHelp { return nil }
        var parsed = LsArguments()
        for letter in options.letters {
            switch letter {
            case UInt8(ascii: "l"): parsed.isLong = true
            case UInt8(ascii: "e"): parsed.showsACL = true
            case UInt8(ascii: "O"): parsed.showsFlags = true
            case UInt8(ascii: "@"): parsed.showsAttributes = true
            case UInt8(ascii: "d"): parsed.listsDirectories = true
            case UInt8(ascii: "a"): parsed.names = .all
            case UInt8(ascii: "A"): if parsed.names == .visible { parsed.names = .almostAll }
            case UInt8(ascii: "R"): parsed.isRecursive = true
            case UInt8(ascii: "L"): parsed.followsAll = true
            // As on macOS, -n implies -l.
            case UInt8(ascii: "n"): (parsed.isNumeric, parsed.isLong) = (true, true)
            // The last of -t and -S counts.
            case UInt8(ascii: "t"): parsed.order.key = .time
            case UInt8(ascii: "S"): parsed.order.key = .size
            case UInt8(ascii: "r"): parsed.order.isReversed = true
            case UInt8(ascii: "h"): parsed.isHuman = true
            // -1: this ls always prints one name a line.
            default: break
            }
        }
        parsed.paths = options.operands.isEmpty ? [[UInt8(ascii: ".")]] : options.operands
        return parsed
    }
}
