/// How long and how deep a place may be that a profile, a home or a group names. Profiles come from whoever asks for a
/// view, and tables of zones are built by recursion.
public enum PlaceName {
    /// As PATH_MAX and NAME_MAX have it.
    static let longest = 4096
    static let longestName = 255
    static let deepest = 256

    /// What is wrong with a path of these names; nil if it can be one.
    public static func fault(_ names: [[UInt8]]) -> String? {
        if names.count > deepest { return "it has more than \(deepest) names" }
        if names.contains(where: { $0.count > longestName }) { return "a name in it is longer than \(longestName) bytes" }
        if names.reduce(0, { $0 + $1.count + 1 }) > longest { return "it is longer than \(longest) bytes" }
        return nil
    }
}
