import Authorization
import MountOptions

/// What a mount says of `noowners` and `noacl`, the options by which rules that are stored protect nothing.
package enum IgnoredRulesWarning {
    /// The options, in the order in which their warnings are printed.
    package static let words = ["noowners", "noacl"]

    /// - Returns: those in force.
    package static func words(in options: MountOptions) -> [String] {
        let ignored = ["noowners": options.volume.ignoresOwnership, "noacl": options.volume.ignoresACLs]
        return words.filter { ignored[$0] == true }
    }

    /// - Parameter word: one of `words`.
    package static func meaning(of word: String) -> String {
        word == "noacl"
            ? "no entry counts, so a deny refuses no user and an allow lets none in"
            : "owners do not count, so neither modes nor entries refuse a user: every user may do what flags and ro allow"
    }
}
