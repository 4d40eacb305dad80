import Authorization

// Cases call the methods of a scene some hundred times: inlined, these take two fifths of the time in which this module is compiled.
/// Builds one case: objects that root makes, then calls of users. Paths begin with `./`.
struct Scene {
    let numbers: Numbers
    private(set) var setup: [Step] = []
    private(set) var steps: [Step] = []
    var skipped: String?

    init(_ numbers: Numbers) { self.numbers = numbers }

    // MARK: Subjects

    @inline(never) var alice: Subject { Subject(uid: numbers.alice, gid: numbers.staff, groups: [numbers.eng]) }
    @inline(never) var bob: Subject { Subject(uid: numbers.bob, gid: numbers.staff, groups: [numbers.ops]) }
    @inline(never) var carol: Subject { Subject(uid: numbers.carol, gid: numbers.staff) }
    var root: Subject { .root }

    // MARK: Objects

    /// A regular file of alice and staff if nothing else is given.
    @inline(never) mutating func file(
        _ name: String, _ mode: UInt16, owner: UInt32? = nil, group: UInt32? = nil, acl: String? = nil, flags: String? = nil
    ) {
        prepare("create", name, "0600", "0")
        finish(name, mode, owner, group, acl, flags)
    }

    /// A directory, as `file`. What is made in it comes after it, so its list is inherited.
    @inline(never) mutating func directory(
        _ name: String, _ mode: UInt16, owner: UInt32? = nil, group: UInt32? = nil, acl: String? = nil, flags: String? = nil
    ) {
        prepare("mkdir", name, "0700", "0")
        finish(name, mode, owner, group, acl, flags)
    }

    private mutating func finish(_ name: String, _ mode: UInt16, _ owner: UInt32?, _ group: UInt32?, _ acl: String?, _ flags: String?) {
        prepare("chown", name, "\(owner ?? numbers.alice)", "\(group ?? numbers.staff)")
        prepare("chmod", name, "\(mode)")
        if let acl { prepare("setxattr", name, "system.aclfs.acl", acl) }
        if let flags { prepare("setxattr", name, "system.aclfs.flags", flags) }
    }

    /// A call of root that must succeed.
    @inline(never) mutating func prepare(_ words: String...) { setup.append(Step(.root, words)) }
    /// As `prepare`, with a value that is no text.
    @inline(never) mutating func prepare(_ words: String..., value: [UInt8]) {
        setup.append(Step(.root, words.map { Array($0.utf8) } + [value]))
    }

    // MARK: Calls

    /// - Parameter gives: `ok` or the name of an errno.
    @inline(never) mutating func call(_ subject: Subject, _ words: String..., gives word: String = "ok") {
        steps.append(Step(subject, words, .word(word)))
    }
    @inline(never) mutating func call(_ subject: Subject, _ words: String..., expecting expected: Expected) {
        steps.append(Step(subject, words, expected))
    }
    @inline(never) mutating func call(_ subject: Subject, _ words: String..., value: [UInt8], expecting expected: Expected = .ok) {
        steps.append(Step(subject, words.map { Array($0.utf8) } + [value], expected))
    }

    /// Opens for reading.
    @inline(never) mutating func read(_ subject: Subject, _ name: String, gives word: String = "ok") {
        call(subject, "open", name, "0", gives: word)
    }
    /// Opens for writing.
    @inline(never) mutating func write(_ subject: Subject, _ name: String, gives word: String = "ok") {
        call(subject, "open", name, "1", gives: word)
    }

    /// Root sees this list.
    @inline(never) mutating func list(of name: String, is text: String) {
        call(root, "getxattr", name, "system.aclfs.acl", expecting: .list(text))
    }

    /// Root sees these attributes; nil = any.
    @inline(never) mutating func attributes(of name: String, owner: UInt32? = nil, group: UInt32? = nil, mode: UInt16? = nil) {
        call(root, "stat", name, expecting: .attributes(owner: owner, group: group, mode: mode))
    }

    // MARK: Texts

    /// Entries for users, as the value of `system.aclfs.acl`.
    @inline(never) func allow(_ uid: UInt32, _ words: String) -> String { "user:#\(uid) allow \(words)" }
    @inline(never) func deny(_ uid: UInt32, _ words: String) -> String { "user:#\(uid) deny \(words)" }
}

extension Expected {
    /// The answer to `stat` with these attributes; nil = any.
    static func attributes(owner: UInt32? = nil, group: UInt32? = nil, mode: UInt16? = nil) -> Expected {
        let wanted = [owner.map { "\($0)" }, group.map { "\($0)" }, mode.map { String($0, radix: 8) }]
        let text = zip(["owner", "group", "mode"], wanted).compactMap { name, value in value.map { "\(name) \($0)" } }
        return .value(text.joined(separator: ", ")) { value in
            let fields = String(decoding: value, as: UTF8.self).split(separator: " ").map(String.init)
            return fields.count >= 3 && zip(fields, wanted).allSatisfy { $1 == nil || $0 == $1 }
        }
    }
}
