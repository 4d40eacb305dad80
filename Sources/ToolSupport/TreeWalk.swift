import Authorization
import LinuxSystem

/// Which symlinks a command follows, and how far it goes: the options -R -H -L -P -h -x that chmod and chflags
/// share (AUTHORIZATION.md 7.5).
public struct WalkOptions: Sendable, Hashable {
    public enum Links: Sendable {
        /// -H: those named on the command line
        case named
        /// -L
        case all
        /// -P, the default of -R
        case none
    }
    public var isRecursive = false
    public var links = Links.none
    /// -h: act on a link itself.
    public var actsOnLinks = false
    /// -x: stay on the file system of what was named.
    public var staysOnDevice = false
    public init() {}

    /// Whether a symlink among the operands is followed. Without -R it is, unless -h.
    var followsOperands: Bool { isRecursive ? links != .none : !actsOnLinks }
}

/// Visits operands and, with -R, what is below them: a directory before its contents, names in the order of
/// their bytes. A symlink that is not followed is passed over unless -h.
struct TreeWalk<Files: ToolFiles> {
    let files: Files
    let options: WalkOptions
    /// What could not be opened or read.
    let fail: ([UInt8], Errno) -> Void
    /// Answers whether to go on at all.
    let visit: (Files.Node, [UInt8], ObjectStatus) -> Bool

    private struct Identity: Hashable { var device, inode: UInt64 }

    func run(_ operands: [[UInt8]]) {
        for operand in operands {
            guard
                let node = attempt(
                    operand,
                    { () throws(Errno) in
                        try files.open(operand, followsLink: options.followsOperands)
                    })
            else { continue }
            if !walk(node, path: operand, ancestors: [], device: nil) { return }
        }
    }

    private func walk(_ node: Files.Node, path: [UInt8], ancestors: Set<Identity>, device: UInt64?) -> Bool {
        guard let status = attempt(path, { () throws(Errno) in try files.status(of: node) }) else { return true }
        if let device, options.staysOnDevice, status.device != device { return true }
        if status.kind == .symlink, !options.actsOnLinks { return true }
        let identity = Identity(device: status.device, inode: status.inode)
        // Only links that are followed can lead back to where the walk came from.
        if ancestors.contains(identity) {
            fail(path, .loop)
            return true
        }
        if !visit(node, path, status) { return false }
        guard options.isRecursive, status.isDirectory,
            let names = attempt(path, { () throws(Errno) in try files.names(in: node) })
        else { return true }
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let below = joinedPath(path, name)
            guard
                let child = attempt(
                    below,
                    { () throws(Errno) in
                        try files.open(name, in: node, followsLink: options.links == .all)
                    })
            else { continue }
            let goesOn = walk(
                child, path: below, ancestors: ancestors.union([identity]), device: device ?? status.device)
            if !goesOn { return false }
        }
        return true
    }

    private func attempt<Value>(_ path: [UInt8], _ body: () throws(Errno) -> Value) -> Value? {
        do { return try body() } catch {
            fail(path, error)
            return nil
        }
    }
}

func joinedPath(_ directory: [UInt8], _ name: [UInt8]) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    return directory.last == slash ? directory + name : directory + [slash] + name
}
