/// The limits of a path in a profile, a home or a group. Any user who may make views sends profiles, and tables of zones are built
/// by recursion.
public enum PlaceName {
    /// PATH_MAX and NAME_MAX.
    static let longest = 4096
    static let longestName = 255
    static let deepest = 256

    /// The error in a path of these names; nil = none.
    public static func fault(_ names: [[UInt8]]) -> String? {
        if names.count > deepest { return "it has more than \(deepest) names" }
        if names.contains(where: { $0.count > longestName }) { return "a name in it is longer than \(longestName) bytes" }
        if names.reduce(0, { $0 + $1.count + 1 }) > longest { return "it is longer than \(longest) bytes" }
        return nil
    }
}
