import ACLFormats
import Authorization
import ControlProtocol
import LinuxSystem

// A command reads a list, and replaces it by another one. What others did in between stays: the request has the list that was read, and the
// daemon refuses it if that is another one by now (docs/reference/control.md "A change of what was read"). An earlier daemon knows no such request: there
// the last change wins.
extension ToolFiles {
    /// Reads a list to change it: bit for bit, whatever names the command and the daemon know.
    /// - Parameter names: of the text that an earlier daemon gives.
    /// - Returns: `nil` if the object has no list.
    func listToChange(of node: Node, names: some IdentityNames) throws(AttributeFailure) -> ACL? {
        let value: [UInt8]?
        do { value = try attribute(ExchangeRequest.attribute, of: node) } catch {
            if error != .opnotsupp { throw .system(error) }
            value = nil
        }
        guard let value else { return try acl(of: node, names: names) }
        guard let record = ExchangeRequest.record(reading: value) else { throw .text("\(ExchangeRequest.attribute) is not a list") }
        return record.acl
    }

    /// Replaces a list.
    /// - Parameter old: as it was read.
    /// - Throws: `changedMeanwhile` if the object has another one now.
    func exchangeACL(of node: Node, from old: ACL?, to new: ACL?) throws(AttributeFailure) {
        do throws(AttributeFailure) { try send(.list(from: old, to: new), to: node) } catch {
            guard error.isUnsupported else { throw error }
            try setACL(of: node, to: new)
        }
    }

    /// Sets and clears single flags. The others stay as they are at that moment.
    /// - Parameters:
    ///   - old: as they were read.
    ///   - new: with the flags that are to change.
    func changeFlags(of node: Node, from old: FileFlags, to new: FileFlags) throws(AttributeFailure) {
        do throws(AttributeFailure) { try send(.flags(set: new.subtracting(old), clear: old.subtracting(new)), to: node) } catch {
            guard error.isUnsupported else { throw error }
            try setFlags(of: node, to: new)
        }
    }

    /// Clears flags of a file until they are set again.
    /// - Parameters:
    ///   - old: as they were read.
    ///   - flags: those to clear.
    /// - Throws: `txtbsy` while others may open the file on another mount of the tree.
    func liftFlags(of node: Node, from old: FileFlags, _ flags: FileFlags) throws(AttributeFailure) {
        do throws(AttributeFailure) { try send(.lift(flags), to: node) } catch {
            guard error.isUnsupported else { throw error }
            try setFlags(of: node, to: old.subtracting(flags))
        }
    }

    private func send(_ change: ExchangeRequest.Change, to node: Node) throws(AttributeFailure) {
        let bytes: [UInt8]
        do { bytes = try ExchangeRequest(change).bytes() } catch { throw .system(.inval) }
        do { try setAttribute(ExchangeRequest.attribute, of: node, to: bytes) } catch {
            throw error == .canceled ? .changedMeanwhile : .system(error)
        }
    }
}

/// How often a command tries to change an object that others change at the same time. Of all who try one succeeds each time.
struct ChangeTries {
    static let most = 300
    private var failed = 0

    /// Waits for a random time, so that those who met do not meet again.
    /// - Returns: false: that was often enough.
    mutating func again() -> Bool {
        failed += 1
        if failed >= Self.most { return false }
        SystemTime.sleep(milliseconds: UInt32.random(in: 0...UInt32(min(failed, 10))))
        return true
    }
}
