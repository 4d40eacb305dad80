import ACLFormats
import Authorization

/// A set of rights: the bit N stands for the right N of `RightName.all`.
struct RightMask: OptionSet, Hashable {
    var rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }
    init(_ rights: Rights) {
        rawValue = 0
        for (index, name) in RightName.all.enumerated() where rights.contains(name.right) { rawValue |= 1 << index }
    }

    static let execute = RightMask(.execute)
    static let everyRight = RightMask(RightName.knownToChmod)

    /// The words of the rights, in the order of `ls -le`.
    func words(isDirectory: Bool) -> [String] {
        RightName.all.enumerated().compactMap { index, name in
            guard rawValue & 1 << index != 0 else { return nil }
            return isDirectory ? name.directoryWord : name.fileWord ?? name.directoryWord
        }
    }
}

/// The columns of the report. Each stands for a few rights that belong together for people.
enum ReportColumn: String, CaseIterable {
    case read, write, delete
    case permissions = "change_permissions"
    case ownership = "take_ownership"

    /// The rights of the column; none where there is nothing that they allow.
    func rights(of kind: KindGroup) -> RightMask {
        switch self {
        case .read: RightMask(kind == .folder ? [.list, .search] : .read)
        case .write: kind == .link ? [] : RightMask([.write, .append])
        case .delete: RightMask(.delete)
        case .permissions: RightMask(.writeSecurity)
        case .ownership: RightMask(.changeOwner)
        }
    }

    var title: String {
        switch self {
        case .read: "Read"
        case .write: "Write, add"
        case .delete: "Delete"
        case .permissions: "Change permissions"
        case .ownership: "Take ownership"
        }
    }
}
