import ACLFormats

/// A command line of `aclfs owner`.
package struct OwnerArguments: Sendable, Hashable {
    /// Who is to own the objects, as typed.
    package enum NewOwner: Sendable, Hashable {
        case user([UInt8])
        case group([UInt8])
        case uuid([UInt8])
    }

    /// nil: the owners are shown.
    package var newOwner: NewOwner?
    package var followsLinks = true
    package var wantsJSON = false
    package var paths: [[UInt8]] = []

    package static let usage = "usage: aclfs owner [-h] [--user USER | --group GROUP | --uuid UUID] [--json] PATH..."

    package static let help = """
        \(usage)

        Options:

          --user USER     a user, by name or number, becomes the owner
          --group GROUP   a group, by name or number: its members have the rights of an owner
          --uuid UUID     an identity without a number here
          -h, --no-dereference
                          a link itself
          --json          shows the owners as JSON

        Without --user, --group and --uuid it shows the owner of each object.

        Examples:

          aclfs owner plans
          aclfs owner --group staff plans
        """

    private static let words = ["--user", "--group", "--uuid", "--no-dereference", "--json", "--help"]

    /// - Parameter arguments: after the command's name.
    /// - Returns: `nil` for help.
    /// - Throws: the command line is wrong.
    package static func parse(_ arguments: [[UInt8]]) throws(UsageError) -> OwnerArguments? {
        if arguments.count == 1, arguments[0].elementsEqual("-h".utf8) { return nil }
        var parsed = OwnerArguments()
        var takesOptions = true
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard takesOptions, argument.first == UInt8(ascii: "-"), argument.count > 1 else {
                parsed.paths.append(argument)
                continue
            }
            let word = argument.prefix { $0 != UInt8(ascii: "=") }
            switch String(decoding: word, as: UTF8.self) {
            case "--": takesOptions = false
            case "--help": return nil
            case "-h", "--no-dereference": parsed.followsLinks = false
            case "--json": parsed.wantsJSON = true
            case let option where option == "--user" || option == "--group" || option == "--uuid":
                let value = word.count < argument.count ? Array(argument.dropFirst(word.count + 1)) : rest.popFirst()
                guard let value, !value.isEmpty else { throw UsageError("\(option) needs a value") }
                if parsed.newOwner != nil { throw UsageError("an object has one owner: give only one of --user, --group and --uuid") }
                parsed.newOwner = option == "--user" ? .user(value) : option == "--group" ? .group(value) : .uuid(value)
            default:
                let hint =
                    nearestWord(to: word, in: words).map { "did you mean '\($0)'?" } ?? "the options are -h \(words.joined(separator: " "))"
                throw UsageError("unknown option '\(escapedName(argument))'; \(hint)")
            }
        }
        if parsed.wantsJSON, parsed.newOwner != nil { throw UsageError("--json shows owners and changes none; leave one of the two out") }
        if parsed.paths.isEmpty { throw UsageError("no path is given") }
        return parsed
    }
}
