import Authorization

/// The words of rights and inheritance flags: one table for every text form (docs/reference/authorization.md 1.1, 1.2, 7.1, 7.2).
public struct RightName: Sendable {
    /// The word on objects other than directories; nil if `ls -le` shows the bit on directories only.
    public let fileWord: String?
    /// The word on a directory.
    public let directoryWord: String
    public let right: Rights

    init(_ fileWord: String?, _ directoryWord: String, _ right: Rights) {
        (self.fileWord, self.directoryWord, self.right) = (fileWord, directoryWord, right)
    }

    /// The rights that chmod knows, in the order of ls.
    public static let all: [RightName] = [
        RightName("read", "list", .read),
        RightName("write", "add_file", .write),
        RightName("execute", "search", .execute),
        RightName("delete", "delete", .delete),
        RightName("append", "add_subdirectory", .append),
        RightName(nil, "delete_child", .deleteChild),
        RightName("readattr", "readattr", .readAttributes),
        RightName("writeattr", "writeattr", .writeAttributes),
        RightName("readextattr", "readextattr", .readExtendedAttributes),
        RightName("writeextattr", "writeextattr", .writeExtendedAttributes),
        RightName("readsecurity", "readsecurity", .readSecurity),
        RightName("writesecurity", "writesecurity", .writeSecurity),
        RightName("chown", "chown", .changeOwner),
    ]

    /// Bits that macOS' commands neither accept nor show. Only the attribute text has words for them, because it must represent
    /// every stored bit (docs/reference/authorization.md 1.1).
    public static let storedOnly: [RightName] = [
        RightName("synchronize", "synchronize", .synchronize),
        RightName("generic_all", "generic_all", .genericAll),
        RightName("generic_execute", "generic_execute", .genericExecute),
        RightName("generic_write", "generic_write", .genericWrite),
        RightName("generic_read", "generic_read", .genericRead),
    ]

    /// Every right that has a word in chmod. `-a` deletes an entry without any of them (docs/reference/authorization.md 7.5).
    public static let knownToChmod: Rights = all.reduce(into: []) { $0.formUnion($1.right) }

    /// The right of a word. Words for files and for directories are accepted on any object.
    public static func right(named word: some Collection<UInt8>) -> Rights? {
        withBytes(word) { word in
            for name in all where spell(word, name.directoryWord) || name.fileWord.map({ spell(word, $0) }) == true { return name.right }
            return nil
        }
    }

    /// Every word for a right in chmod: words for files first, then those that only directories have.
    public static let words: [String] = {
        let fileWords = all.compactMap(\.fileWord)
        return fileWords + all.map(\.directoryWord).filter { !fileWords.contains($0) }
    }()
}

/// Words of chmod that stand for several rights. Lists store and show the rights, never such a word (docs/reference/authorization.md 7.1).
public struct RightSet: Sendable {
    public let word: String
    private let rights: Rights

    /// Those of NFSv4's tools on FreeBSD and Solaris, whose full_set is full_control here.
    public static let all: [RightSet] = {
        let read: Rights = [.read, .readAttributes, .readExtendedAttributes, .readSecurity]
        let write: Rights = [.write, .append, .writeAttributes, .writeExtendedAttributes]
        return [
            RightSet(word: "full_control", rights: RightName.knownToChmod),
            RightSet(word: "modify_set", rights: RightName.knownToChmod.subtracting([.writeSecurity, .changeOwner])),
            RightSet(word: "read_set", rights: read),
            RightSet(word: "write_set", rights: write),
        ]
    }()

    /// The rights on one kind of object.
    /// - Parameter isDirectory: otherwise `delete_child` is left out: `ls -le` would not show it, and a line of `ls -le` not remove it.
    public func rights(isDirectory: Bool) -> Rights { isDirectory ? rights : rights.subtracting(.deleteChild) }

    /// The set of a word; nil if it names none.
    public static func set(named word: some Collection<UInt8>) -> RightSet? { all.first { $0.word.utf8.elementsEqual(word) } }
}

/// The words of the flags of an entry (docs/reference/authorization.md 1.2).
public struct ACEFlagName: Sendable {
    public let word: String
    public let flag: ACEFlags
    /// `ls -le` shows `limit_inherit` on everything, the others on directories only.
    public let shownOnFiles: Bool

    /// The flags in the list of words. `inherited` is before the kind when printed.
    public static let inheritance: [ACEFlagName] = [
        ACEFlagName(word: "file_inherit", flag: .fileInherit, shownOnFiles: false),
        ACEFlagName(word: "directory_inherit", flag: .directoryInherit, shownOnFiles: false),
        ACEFlagName(word: "limit_inherit", flag: .limitInherit, shownOnFiles: true),
        ACEFlagName(word: "only_inherit", flag: .onlyInherit, shownOnFiles: false),
    ]
    public static let inherited = ACEFlagName(word: "inherited", flag: .inherited, shownOnFiles: true)
    /// The flags that chmod accepts.
    public static let all: [ACEFlagName] = [inherited] + inheritance

    /// The flag of a word; nil if it names none.
    public static func flag(named word: some Collection<UInt8>) -> ACEFlags? {
        all.first { $0.word.utf8.elementsEqual(word) }?.flag
    }
}
