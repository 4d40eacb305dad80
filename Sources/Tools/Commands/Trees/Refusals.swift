import ACLFormats
import Authorization
import ControlProtocol
import LinuxSystem
import ToolSupport

/// Asks the daemon why it refuses something to the caller. An errno names neither the entry nor the flag that decides. The daemon tells the
/// caller no more than `aclfs explain` does.
package final class Refusals {
    /// A walk over a large tree must not spend its time with questions: the daemon answers an ordinary user at a limited rate.
    private static let most = 100
    private var asked = 0

    /// - Parameters:
    ///   - operation: that the caller tried.
    ///   - path: of the object, links in its directory followed.
    ///   - error: that the caller got.
    /// - Returns: the entry, flag or stage that refuses; nil if it cannot be learned, or if the daemon would answer otherwise by now.
    func rule(refusing operation: OperationWord, at path: [UInt8], error: Errno) -> String? {
        guard asked < Self.most, let called = CalledOperation(operation.rawValue) else { return nil }
        asked += 1
        do throws(ControlError) {
            let location = try MountLocation(path)
            let client = try ControlClient(device: location.entry.device, owner: location.entry.userID ?? 0, timeout: 1000, isTotal: true)
            let answer = try client.ask(ExplainMessage(called, path: location.names, isBrief: true))
            guard let explanation = answer.explanation, explanation.denial == error.name, let step = explanation.steps.last else {
                return nil
            }
            let place = step.place.depth < location.names.count ? location.shown(step.place.depth) : nil
            return escapedText(([step.refusal(place: place)] + explanation.notes).joined(separator: "; "))
        } catch {
            // A daemon that hangs would cost this time for each object.
            if error.isTimeout { asked = Self.most }
            return nil
        }
    }
}

extension Explanation.Step {
    /// A refusal in words, with the stage as docs/reference/authorization.md 3.11 spells it.
    /// - Parameter place: the path of a directory above the object, if that refuses.
    func refusal(place: [UInt8]?) -> String {
        let what = words.joined(separator: ",")
        let place = place.map { " on \(escapedName($0))" } ?? ""
        switch stage.prefix(while: { $0 != ":" }) {
        case "acl": return "\(what) is denied\(place) by the entry '\(entry ?? "")' (\(stage))"
        case "flags": return "\(what) is denied\(place) by the flag \(entry ?? "") (\(stage))"
        case "posix" where entry != nil: return "\(what) is denied\(place) by the \(entry ?? "") (\(stage))"
        case "posix": return "\(what) is denied\(place): no entry decides it, and the mode does not grant it (\(stage))"
        case "no_bsd_equivalent": return "\(what) is denied\(place): no entry grants it, and no mode bit stands for it (\(stage))"
        case "attr_policy" where words == ["chown"]:
            let rule = "only root gives an object to another user, or to a group that the caller is not in"
            return "\(what) is denied\(place): \(rule) (\(stage))"
        case "sandbox": return "\(what) is denied\(place) by the sandbox: \(entry ?? "")"
        default: return "\(what) is denied\(place) (\(stage))"
        }
    }
}

extension ToolFiles {
    /// The text of an error, with the rule of the mount that refuses.
    /// - Parameters:
    ///   - error: of a call on the object.
    ///   - operation: the call.
    ///   - node: the object; nil if it could not be opened.
    ///   - path: as the caller named it.
    func message(_ error: Errno, of operation: OperationWord, on node: Node?, _ path: [UInt8]) -> String {
        guard error == .perm || error == .acces, let rule = rule(refusing: operation, on: node, path, error) else { return error.text }
        return "\(error.text): \(rule)"
    }

    /// As above, for a list or flags.
    /// - Parameter kind: of the object whose list or flags were to be stored; nil: they were read.
    func message(
        _ failure: AttributeFailure, of operation: OperationWord, on node: Node?, _ path: [UInt8], storedOn kind: ObjectKind? = nil
    ) -> String {
        guard case .system(let error) = failure, error == .perm || error == .acces else { return failure.message }
        let text = message(error, of: operation, on: node, path)
        // No rule: the backing file system refuses the record.
        guard text == Errno.perm.text, let kind, kind != .file, kind != .directory else { return text }
        return "\(text): links and special files hold no user.aclfs, in which a mount of an ordinary user stores lists and flags"
    }
}

extension LinuxFiles {
    package func rule(refusing operation: OperationWord, on node: SharedDescriptor?, _ path: [UInt8], _ error: Errno) -> String? {
        // The object may have been found through a link.
        let path = node.flatMap { try? absolutePath(of: $0) } ?? path
        return refusals.rule(refusing: operation, at: path, error: error)
    }
}
