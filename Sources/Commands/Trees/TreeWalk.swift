import Authorization
import LinuxSystem

/// Which symlinks a command follows, and how far it goes: the options -R -H -L -P -h -x that chmod and chflags
/// share (docs/authorization.md 7.5).
package struct WalkOptions: Sendable, Hashable {
    package enum Links: Sendable {
        /// -H: those named on the command line
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
    /// -x: stay on the file system of what was named.
    package var staysOnDevice = false
    package init() {}

    /// Whether a symlink among the operands is followed. Without -R it is, unless -h.
    var followsOperands: Bool { isRecursive ? links != .none : !actsOnLinks }
}

/// Visits operands and, with -R, what is below them: a directory before its contents, names in the order of
/// their bytes. A symlink that is not followed is passed over unless -h.
struct TreeWalk<Files: ToolFiles> {
    let files: Files
    let options: WalkOptions
    /// What could not be opened or read, and why.
    let fail: ([UInt8], String) -> Void
    /// Answers whether to go on at all.
    let visit: (Files.Node, [UInt8], ObjectStatus) -> Bool

    func run(_ operands: [[UInt8]]) {
        for operand in operands where !walk(operand) { return }
    }

    private func walk(_ operand: [UInt8]) -> Bool {
        guard let node = attempt(operand, { () throws(Errno) in try files.open(operand, followsLink: options.followsOperands) }),
            let status = attempt(operand, { () throws(Errno) in try files.status(of: node) })
        else { return true }
        if status.kind == .symlink, !options.actsOnLinks { return true }
        if !visit(node, operand, status) { return false }
        guard options.isRecursive, status.isDirectory else { return true }
        var way = TreeWay<Files, SortedNames<Files.Node>>(files, node, of: operand, followsLinks: options.links == .all)
        enter(node, named: [], status, operand, &way)
        var goesOn = true
        way.walk(fail: fail) { way, name, directory in
            goesOn = meet(name, in: directory, device: status.device, &way)
            return goesOn
        }
        return goesOn
    }

    private func meet(
        _ name: [UInt8], in directory: Files.Node, device: UInt64, _ way: inout TreeWay<Files, SortedNames<Files.Node>>
    ) -> Bool {
        let path = way.path(of: name)
        guard
            let node = attempt(
                path, { () throws(Errno) in try files.open(name, in: directory, followsLink: options.links == .all) }),
            let status = attempt(path, { () throws(Errno) in try files.status(of: node) })
        else { return true }
        if options.staysOnDevice, status.device != device { return true }
        if status.kind == .symlink, !options.actsOnLinks { return true }
        // Only links that are followed can lead back to where the walk came from.
        if way.contains(status.identity) {
            fail(path, Errno.loop.text)
            return true
        }
        if !visit(node, path, status) { return false }
        if status.isDirectory { enter(node, named: name, status, path, &way) }
        return true
    }

    private func enter(
        _ node: Files.Node, named name: [UInt8], _ status: ObjectStatus, _ path: [UInt8],
        _ way: inout TreeWay<Files, SortedNames<Files.Node>>
    ) {
        guard let names = attempt(path, { () throws(Errno) in try files.names(in: node) }) else { return }
        way.enter(node, named: name, status.identity, SortedNames(names))
    }

    private func attempt<Value>(_ path: [UInt8], _ body: () throws(Errno) -> Value) -> Value? {
        do { return try body() } catch {
            fail(path, error.text)
            return nil
        }
    }
}
