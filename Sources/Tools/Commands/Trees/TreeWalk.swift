import ACLFormats
import Authorization
import LinuxSystem

/// The options -R -H -L -P -h -x that chmod and chflags share (docs/reference/authorization.md 7.5): which symlinks are followed, and how far the
/// walk goes.
package struct WalkOptions: Sendable, Hashable {
    /// Which symlinks are followed with -R.
    package enum Links: Sendable {
        /// -H: those on the command line.
        case named
        /// -L
        case all
        /// -P, the default of -R
        case none
    }
    package var isRecursive = false
    package var links = Links.none
    /// -h: act on a link itself.
    package var actsOnLinks = false
    /// -x: stay on the operand's file system.
    package var staysOnDevice = false
    package init() {}

    /// Whether a symlink among the operands is followed. Without -R it is, except with -h.
    var followsOperands: Bool { isRecursive ? links != .none : !actsOnLinks }
}

/// Visits the operands and, with -R, the objects below them: a directory before its contents, names in the order of their bytes. A
/// symlink that is not followed is visited only with -h.
struct TreeWalk<Files: ToolFiles> {
    let files: Files
    let options: WalkOptions
    /// Called with a path that could not be opened or read, and the reason.
    let fail: ([UInt8], String) -> Void
    /// Called with each object. Returns whether to go on.
    let visit: (Files.Node, [UInt8], ObjectStatus) -> Bool
    /// Whether the change depends on the object's status. If not, an operand whose stat is refused is visited without -R, as a file: its
    /// owner may be denied readattr, and never writesecurity.
    var needsStatus = true

    func run(_ operands: [[UInt8]]) {
        for operand in operands where !walk(operand) { return }
    }

    private func walk(_ operand: [UInt8]) -> Bool {
        guard let node = attempt(operand, { () throws(Errno) in try files.open(operand, followsLink: options.followsOperands) }),
            let status = attempt(operand, { () throws(Errno) in try status(ofOperand: node) })
        else { return true }
        if status.kind == .symlink, !options.actsOnLinks { return true }
        if !visit(node, operand, status) { return false }
        guard options.isRecursive, status.isDirectory else { return true }
        var descent = TreeDescent<Files, SortedNames<Files.Node>>(files, node, of: operand, followsLinks: options.links == .all)
        enter(node, named: [], status, operand, &descent)
        var goesOn = true
        descent.walk(fail: fail) { descent, name, directory in
            goesOn = meet(name, in: directory, device: status.device, &descent)
            return goesOn
        }
        return goesOn
    }

    private func status(ofOperand node: Files.Node) throws(Errno) -> ObjectStatus {
        do throws(Errno) { return try files.status(of: node) } catch {
            guard error == .acces, !needsStatus, !options.isRecursive else { throw error }
            return ObjectStatus(kind: .file, mode: 0)
        }
    }

    private func meet(
        _ name: [UInt8], in directory: Files.Node, device: UInt64, _ descent: inout TreeDescent<Files, SortedNames<Files.Node>>
    ) -> Bool {
        let path = descent.path(of: name)
        guard
            let node = attempt(
                path, { () throws(Errno) in try files.open(name, in: directory, followsLink: options.links == .all) }),
            let status = attempt(path, { () throws(Errno) in try files.status(of: node) })
        else { return true }
        if options.staysOnDevice, status.device != device { return true }
        if status.kind == .symlink, !options.actsOnLinks { return true }
        // Followed links can lead back to a directory above.
        if descent.contains(status.identity) {
            fail(path, Errno.loop.text)
            return true
        }
        if !visit(node, path, status) { return false }
        if status.isDirectory { enter(node, named: name, status, path, &descent) }
        return true
    }

    private func enter(
        _ node: Files.Node, named name: [UInt8], _ status: ObjectStatus, _ path: [UInt8],
        _ descent: inout TreeDescent<Files, SortedNames<Files.Node>>
    ) {
        guard let names = attempt(path, as: .openRead, on: node, { () throws(Errno) in try files.names(in: node) }) else { return }
        descent.enter(node, named: name, status.identity, SortedNames(names))
    }

    private func attempt<Value>(
        _ path: [UInt8], as operation: OperationWord = .stat, on node: Files.Node? = nil, _ body: () throws(Errno) -> Value
    ) -> Value? {
        do { return try body() } catch {
            fail(path, files.message(error, of: operation, on: node, path))
            return nil
        }
    }
}
