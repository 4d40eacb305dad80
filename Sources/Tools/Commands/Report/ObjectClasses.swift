import Authorization

/// Objects with the same facts: the authorizer decides alike about all of them.
struct ObjectClass: Hashable {
    var facts: ObjectFacts
    /// Whether its own flag or attribute excludes it from backups.
    var isExcluded = false

    var isDirectory: Bool { facts.kind == .directory }
    var isProtected: Bool { facts.acl?.isProtected == true }
    var entries: [ACE] { facts.acl?.entries ?? [] }
}

/// Each value once, by its number.
struct Numbered<Value: Hashable> {
    private(set) var all: [Value] = []
    private var numbers: [Value: Int] = [:]

    /// - Parameter values: those with the first numbers.
    init(_ values: Value...) { for value in values { _ = number(of: value) } }

    /// - Returns: the number of a value, which is new if there was none.
    mutating func number(of value: Value) -> Int {
        if let number = numbers[value] { return number }
        all.append(value)
        numbers[value] = all.count - 1
        return all.count - 1
    }
}

/// The classes of a tree. Few trees have more than some hundred.
typealias ObjectClasses = Numbered<ObjectClass>

/// What a line of the report counts together.
enum KindGroup: Int, CaseIterable {
    case folder, file, link, special

    init(_ kind: ObjectKind) {
        switch kind {
        case .directory: self = .folder
        case .file: self = .file
        case .symlink: self = .link
        case .fifo, .socket, .characterDevice, .blockDevice: self = .special
        }
    }
}

/// What a walk meets, a directory before its contents.
enum ReportEvent: Hashable {
    /// A directory becomes the present one. The first has an empty name.
    case enter(name: [UInt8], number: Int)
    /// An object of the present directory that is no directory.
    case object(name: [UInt8], number: Int)
    /// An object whose facts cannot be read. A directory among them is not entered.
    case unreadable(name: [UInt8], reason: String)
    /// The names of the present directory cannot be read, or not all of them.
    case unlisted(reason: String)
    /// The directory above becomes the present one.
    case leave
}
