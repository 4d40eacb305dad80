import ACLFormats

/// The words of `aclfs explain` and `aclfs effective`, read.
public struct ExplainArguments: Sendable {
    public var json = false
    public var subject: String?
    public var whoCan = false
    public var last = false
    /// What is neither an option nor an option's value; paths are bytes.
    public var words: [[UInt8]] = []

    /// - Throws: what is wrong, for the user.
    public init(_ arguments: [[UInt8]]) throws(ControlError) {
        var index = 0
        var onlyWords = false
        while index < arguments.count {
            let bytes = arguments[index]
            let word = String(decoding: bytes, as: UTF8.self)
            index += 1
            if onlyWords || !word.hasPrefix("-") || word == "-" {
                words.append(bytes)
            } else if word == "--" {
                onlyWords = true
            } else if word == "--json" {
                json = true
            } else if word == "--who-can" {
                whoCan = true
            } else if word == "--last" {
                last = true
            } else if word == "--as" {
                guard index < arguments.count else { throw ControlError("--as needs a user") }
                subject = String(decoding: arguments[index], as: UTF8.self)
                index += 1
            } else if word.hasPrefix("--as=") {
                subject = String(word.dropFirst("--as=".count))
            } else {
                let hint = nearestWord(to: bytes, in: ["--json", "--who-can", "--last", "--as"])
                throw ControlError("unknown option '\(escapedName(bytes))'\(hint.map { "; did you mean '\($0)'?" } ?? "")")
            }
        }
    }
}
