/// The attributes that exclude an object from backup, besides the flag UF_NODUMP (docs/guide/backup.md). One of them, or the flag, is
/// enough (docs/decisions/0011-one-mark-is-enough.md).
public enum BackupMark: CaseIterable, Sendable, Hashable {
    /// Time Machine's; programs test whether it exists.
    case excludeItem
    /// The older attribute of iOS: one byte.
    case mobileBackup
    /// The freedesktop proposal: whether robots may back up the object.
    case robots

    /// The name on the backing object.
    public var storedName: [UInt8] { Array("user.\(plainName)".utf8) }

    /// The name without the namespace, as macOS spells it.
    public var plainName: String {
        switch self {
        case .excludeItem: "com.apple.metadata:com_apple_backup_excludeItem"
        case .mobileBackup: "com.apple.MobileBackup"
        case .robots: "xdg.robots.backup"
        }
    }

    /// - Parameter storedName: the name on the backing object; nil for any other name.
    public init?(storedName: [UInt8]) {
        // Every attribute name of a request is compared, so no string is built before the sizes match.
        let prefix = "user.".utf8.count
        guard
            let mark = Self.allCases.first(where: { mark in
                mark.plainName.utf8.count == storedName.count - prefix && mark.storedName == storedName
            })
        else { return nil }
        self = mark
    }

    /// Its value while the object is excluded.
    public var value: [UInt8] {
        switch self {
        case .excludeItem: propertyList("com.apple.backupd")
        case .mobileBackup: [1]
        case .robots: Array("false".utf8)
        }
    }

    /// Whether a caller may set this value. Others would be lost, or read as the opposite.
    public func accepts(_ value: [UInt8]) -> Bool { excludes(value) }

    /// Whether a value includes the object in backups: the default of the freedesktop proposal, which other file systems copy.
    /// Setting it clears the mark; it is not stored.
    public func includes(_ value: [UInt8]) -> Bool { self == .robots && value == Array("true".utf8) }

    /// Whether a value excludes the object. Of the first key any does, as for the programs that read it: besides the property list many
    /// programs write the plain text `com.apple.backupd`.
    public func excludes(_ stored: [UInt8]) -> Bool { self == .excludeItem || stored == value }
}

/// A binary property list with one ASCII string of 15 to 200 characters.
private func propertyList(_ text: String) -> [UInt8] {
    let header = Array("bplist00".utf8)
    // One object after the header: a string (0x5), its length as an integer of one byte (0x10).
    let string = [0x5F, 0x10, UInt8(text.utf8.count)] + Array(text.utf8)
    let tableAt = UInt8(header.count + string.count)
    // Offsets and references of one byte; one object; the first is the top; the offset of the table of offsets.
    let trailer: [UInt8] =
        [0, 0, 0, 0, 0, 0, 1, 1] + bigEndian(1) + bigEndian(0) + bigEndian(tableAt)
    return header + string + [UInt8(header.count)] + trailer
}

private func bigEndian(_ number: UInt8) -> [UInt8] { [0, 0, 0, 0, 0, 0, 0, number] }
