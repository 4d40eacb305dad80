import SandboxPolicy

/// What `-o` says of a sandbox. The command that mounts reads the profile; the daemon gets it compiled.
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
}

extension ValueForm<String> {
    static var profile: ValueForm {
        .text("an installed profile's name (aclfs sandbox list), or a path with a slash") { !$0.isEmpty }
    }

    static var bundleIdentifier: ValueForm {
        .text("a bundle identifier such as org.example.App") { ContainerLayout.isIdentifier($0) }
    }

    static var home: ValueForm {
        .text("a directory's path from the mount's top, without . and ..") { text in
            let names = text.split(separator: "/")
            return !text.isEmpty && !names.contains(".") && !names.contains("..") && !text.utf8.contains(0)
        }
    }
}
