/// The layout of a container that an attribute of its directory declares, for mounts that no profile confines (docs/guide/backup.md "Layouts").
/// It leaves out of backups what a confined mount leaves out, by the same zones.
public enum DeclaredLayout: String, Sendable, CaseIterable {
    /// A container as on iOS: Documents and Library are backed up, without Library/Caches, and nothing else in it.
    case ios
    /// A container as on macOS: everything is backed up but Library/Caches, tmp and applications.
    case container

    /// The attribute of the directory. Its value is the word of the layout.
    public static let attributeName = "user.backup.layout"

    /// - Parameter value: of the attribute; nil if it is no layout that this version knows.
    public init?(value: [UInt8]) {
        guard let layout = Self.allCases.first(where: { value.elementsEqual($0.rawValue.utf8) }) else { return nil }
        self = layout
    }

    /// Whether backups leave out an object.
    /// - Parameter names: from the directory that declares the layout to the object; empty for the directory itself.
    public func leavesOut(_ names: [[UInt8]]) -> Bool {
        table[table.zone(of: names)].kind.isExcludedFromBackup
    }

    /// The directories whose content `aclfs purge` removes, as names from the directory that declares the layout.
    public static let purgeablePlaces = ContainerLayout.purgeablePlaces

    private var table: ZoneTable {
        switch self {
        case .ios: Self.iosZones
        case .container: Self.macosZones
        }
    }

    private static let iosZones = ZoneTable(inside: .ios)
    private static let macosZones = ZoneTable(inside: .macos)
}
