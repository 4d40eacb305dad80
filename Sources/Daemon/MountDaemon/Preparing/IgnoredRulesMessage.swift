import BackingStore
import MountOptions
import Mounting
import ToolSupport

extension PreparedMount {
    /// Warns of options by which modes and entries protect nothing. A source without attributes is served by no others, which it says itself.
    func warnOfIgnoredRules(_ options: MountOptions) {
        guard tree.storesRecords else { return }
        for word in IgnoredRulesWarning.words(in: options) {
            printError("aclfs: warning: \(mountpoint): with \(word) \(IgnoredRulesWarning.meaning(of: word))")
        }
    }
}
