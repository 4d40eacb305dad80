import ACLFormats
import LinuxSystem
import SandboxPolicy

/// The file of a profile. What its bytes mean is found out by whoever can read property lists: `aclfs` itself, and for `aclfsd` another
/// process (docs/decisions/0039-two-programs.md).
public enum ProfileFile {
    /// - Throws: `malformed`, without a file name.
    public typealias Parser = ([UInt8]) throws(ProfileProblem) -> Entitlements

    /// In bytes; Apple's own have a few hundred.
    public static let longest = 256 << 10

    /// Opens the file with the rights of this process.
    /// - Throws: `unreadable` or `malformed`, with the path.
    public static func entitlements(_ path: String, by parse: Parser) throws(ProfileProblem) -> Entitlements {
        do { return try parse(try content(path)) } catch {
            throw ProfileProblem(error.kind, "profile \(escapedName(path.utf8)): \(error.description)")
        }
    }

    private static func content(_ path: String) throws(ProfileProblem) -> [UInt8] {
        let bytes: [UInt8]?
        do throws(Errno) {
            // Opening a FIFO would wait for a writer.
            let file = try Syscall.open(path, OpenFlag.readOnly | OpenFlag.nonBlock | OpenFlag.noControllingTerminal)
            let isRegular = try Syscall.statx(file.rawValue).isRegular
            bytes = isRegular ? try Syscall.readAll(file.rawValue, limit: longest + 1) : nil
        } catch { throw ProfileProblem(.unreadable, error.description) }
        guard let bytes else { throw ProfileProblem(.unreadable, "not a regular file") }
        guard bytes.count <= longest else {
            throw ProfileProblem(.malformed, "longer than \(longest / 1024) KiB, so no list of entitlements")
        }
        return bytes
    }
}

/// Why a profile cannot be used, in one sentence with the file's name.
public struct ProfileProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the problem, which decides the exit status.
    public enum Kind: Sendable, Hashable {
        /// No profile of this name is installed.
        case unknownName
        /// The file cannot be read.
        case unreadable
        /// The file's content is not a profile.
        case malformed
    }

    public var kind: Kind
    public var description: String

    public init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}
