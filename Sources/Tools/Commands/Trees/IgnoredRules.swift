import ACLFormats
import ControlProtocol
import LinuxSystem
import Mounting
import ToolSupport

/// What mounts ignore by `noacl` and `noowners`: a change there may be stored, and protects nothing. Each mount is asked once.
package final class IgnoredRules {
    private let told = Lock<Set<UInt64>>([])

    /// - Parameters:
    ///   - device: of an object on the mount.
    ///   - path: of the object.
    ///   - entries: whether its entries are changed. Modes and owners count with `noacl`.
    /// - Returns: why the change has no effect there, once for each mount; nil also if the daemon does not say.
    package func warning(device: UInt64, _ path: [UInt8], entries: Bool) -> String? {
        guard told.withLock({ $0.insert(device).inserted }) else { return nil }
        guard let location = try? MountLocation(path) else { return nil }
        let words = Self.words(of: location).filter { entries || $0 != "noacl" }
        if words.isEmpty { return nil }
        return "\(escapedName(path)) lies on a mount with \(words.joined(separator: " and ")): "
            + words.map(IgnoredRulesWarning.meaning(of:)).joined(separator: "; ")
    }

    /// The words in force of the two. Only root and the user who mounted may know the options; others see what a decision says.
    static func words(of location: MountLocation) -> [String] {
        func client() throws(ControlError) -> ControlClient {
            try ControlClient(device: location.entry.device, owner: location.entry.userID ?? 0, timeout: 1000, isTotal: true)
        }
        do throws(ControlError) {
            do throws(ControlError) {
                let options = try client().ask(StatusMessage()).options
                return IgnoredRulesWarning.words.filter(options.contains)
            } catch { if error.code != Errno.perm.name { throw error } }
            guard let right = CalledOperation("read"),
                let answer = try client().ask(ExplainMessage(right, path: location.names)).explanation
            else { return [] }
            var words: [String] = []
            if answer.notes.contains(Explanation.entriesDoNotCount) { words.append("noacl") }
            if answer.steps.contains(where: { $0.stage == "ownership_ignored" }) { words.append("noowners") }
            return words
        } catch { return [] }
    }
}
