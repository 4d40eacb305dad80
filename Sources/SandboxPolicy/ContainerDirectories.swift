extension ContainerLayout {
    /// The container's own directory, by names from the mount's top.
    public func container(bundle: String, home: [[UInt8]]) -> [[UInt8]] {
        let names =
            switch self {
            case .macos: ["Library", "Containers", bundle, "Data"]
            case .ios: ["Containers", "Data", bundle]
            }
        return home + names.map { Array($0.utf8) }
    }

    /// What an application may expect to find in its container (the guide's Table 1-1), those above first. The Inbox comes
    /// with the first file that somebody leaves there.
    public static let directories = [
        "Documents", "Library", "Library/Application Support", "Library/Preferences", "Library/Caches", "tmp",
    ]
}
