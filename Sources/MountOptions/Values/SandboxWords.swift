import ACLFormats
import SandboxPolicy

/// What `-o` says of a sandbox. Whoever mounts reads the profile itself; the daemon gets it compiled.
public struct SandboxWords: Sendable, Hashable {
    /// An installed name, or with a slash a path.
    public var profile: String?
    public var bundle: String?
    /// As it was said: names from the mount's top, or a path through the mount point.
    public var home: String?
    public var layout: ContainerLayout?

    public init(profile: String? = nil, bundle: String? = nil, home: String? = nil, layout: ContainerLayout? = nil) {
        (self.profile, self.bundle, self.home, self.layout) = (profile, bundle, home, layout)
    }

    /// In the words of `-o`.
    var words: [String] {
        [("sandbox", profile), ("bundle", bundle), ("home", home), ("layout", layout?.rawValue)].compactMap { name, value in
            value.map { "\(name)=\($0)" }
        }
    }
}

extension MountOptions {
    mutating func applySandbox(_ name: String, _ value: String) throws(MountOptionError) {
        switch name {
        case "sandbox":
            guard !value.isEmpty else {
                throw wrongValue(name, value, ["an installed profile's name (aclfs sandbox list), or a path with a slash"])
            }
            sandbox.profile = value
        case "bundle":
            guard ContainerLayout.isIdentifier(value) else {
                throw wrongValue(name, value, ["a bundle identifier such as org.example.App"])
            }
            sandbox.bundle = value
        case "home":
            let names = value.split(separator: "/")
            guard !value.isEmpty, !names.contains("."), !names.contains(".."), !value.utf8.contains(0) else {
                throw wrongValue(name, value, ["a directory's path from the mount's top, without . and .."])
            }
            sandbox.home = value
        default: sandbox.layout = try word(name, value)
        }
    }

    /// What only all words together show.
    public func checkTogether() throws(MountOptionError) {
        try checkAudit()
        try checkSetID()
        for word in sandbox.words {
            let name = word.prefix { $0 != "=" } + "="
            // Elsewhere the last one counts. Here it could open what the first one closes.
            guard let first = given.first(where: { $0.hasPrefix(name) && $0 != word }) else { continue }
            throw MountOptionError(
                description: "options '\(escapedName(first.utf8))' and '\(escapedName(word.utf8))' contradict each other; say one of them")
        }
        if sandbox.profile == nil, let word = sandbox.words.first {
            throw MountOptionError(
                description: "option '\(word)' says nothing without a profile: add sandbox=PROFILE, or leave it out")
        }
        if sandbox.bundle == nil, let layout = sandbox.layout {
            throw MountOptionError(
                description: "option 'layout=\(layout.rawValue)' says how a container is divided: add bundle=ID, whose "
                    + "container it is, or leave it out")
        }
    }
}
