import ACLFormats
import SandboxPolicy

/// What `aclfs` has read in a property list, for `aclfsd`, which reads none. It goes through a pipe, not over a control socket.
public struct EntitlementsAnswer: Sendable {
    /// The word by which `aclfs` starts to give it. Its standard input has the list.
    public static let word = "read-entitlements"
    /// Bytes of an answer; a profile that may be used is much shorter.
    public static let longest = 2 << 20

    /// Of the program that has read the list.
    public var program: String
    public var entitlements: Result<Entitlements, Problem>

    /// Why the list is no profile, in a sentence without the name of the file.
    public struct Problem: Error, Sendable {
        public var message: String

        public init(message: String) { self.message = message }
    }

    public init(program: String, _ entitlements: Result<Entitlements, Problem>) {
        (self.program, self.entitlements) = (program, entitlements)
    }

    /// - Parameter bytes: from a process that may have been any program, or have ended in the middle.
    /// - Throws: they are no such answer.
    public init(reading bytes: [UInt8]) throws(Problem) {
        let json: JSON
        do { json = try JSONText.parse(bytes, limit: Self.longest) } catch { throw Problem(message: error.description) }
        guard let program = json[.version]?.string else { throw Problem(message: "no \(MemberName.version.rawValue)") }
        self.program = program
        if let message = json[.error]?.string {
            entitlements = .failure(Problem(message: message))
            return
        }
        guard let values = json[.entitlements] else { throw Problem(message: "no \(MemberName.entitlements.rawValue)") }
        do { entitlements = .success(try Entitlements(values)) } catch {
            throw Problem(message: "\(error.key): \(error.message)")
        }
    }

    public var bytes: [UInt8] {
        let member: JSON.Member =
            switch entitlements {
            case .success(let entitlements): .init(.entitlements, entitlements.json)
            case .failure(let problem): .init(.error, problem.message)
            }
        return JSONText.write(.object([.init(.version, program), member]))
    }
}
