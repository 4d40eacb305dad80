import Glibc
import TestSupport

/// One call of a random sequence: who, and what, with names below the world's top.
struct EquivalenceCall: CustomStringConvertible {
    var user: Int
    /// Words that start with `/` are paths.
    var words: [String]
    /// Where a tree has several mounts: through which of them.
    var way = 0
    /// Made while the one before it is under way.
    var joins = false

    /// Several processes may be one user's.
    static let users = [TestUser.alice, .bob, .carol, .alice, .bob, .root]

    func words(in top: String) -> [String] { words.map { $0.hasPrefix("/") ? top + $0 : $0 } }
    var description: String {
        "uid \(Self.users[user].uid), process \(user), way \(way)\(joins ? ", at once" : ""): " + words.joined(separator: " ")
    }
}

/// Random calls in a small world: the same few names are met again and again, as files and as directories, so
/// that what one call leaves in a cache matters to the next.
struct EquivalenceCallGenerator {
    var random: SplitMix64

    static let directories = ["/a", "/b", "/a/b", "/b/a", "/a/b/c"]
    static let files = ["/x"] + directories.flatMap { [$0 + "/x", $0 + "/y"] }
    /// With what a world begins: otherwise most calls find nothing.
    static let beginning =
        directories.map { EquivalenceCall(user: 0, words: ["mkdir", $0, "0777", "0"]) }
        + files.map { EquivalenceCall(user: 1, words: ["create", $0, "0666", "0"]) }
    static let modes = ["0777", "0777", "0755", "0755", "0711", "0700", "0744", "0705", "0666", "0600", "0000", "01777"]
    private static let lists = [
        "user:#502 deny search", "user:#503 deny search,list", "everyone deny search", "group:#601 deny search,read",
        "everyone allow search,list", "user:#502 allow search", "group:#600 allow search,add_file,delete_child",
        "user:#503 allow read,write", "everyone deny readattr", "user:#502 deny readattr", "everyone deny readsecurity",
        "user:#502 deny delete", "everyone allow delete", "user:#503 deny list,add_file,add_subdirectory",
        "everyone allow search,file_inherit,directory_inherit", "user:#502 deny read,search,file_inherit,directory_inherit",
        "user:#503 allow writesecurity,chown,search", "user:#502 deny write,append,execute",
    ]

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func directory() -> String { random.pick(Self.directories) }
    mutating func file() -> String { random.pick(Self.files) }
    mutating func path() -> String { random.chance(50) ? directory() : file() }
    /// Both of one kind, mostly.
    private mutating func paths() -> [String] {
        random.chance(20) ? [path(), path()] : random.chance(50) ? [directory(), directory()] : [file(), file()]
    }

    /// At least `count` calls.
    mutating func calls(_ count: Int) -> [EquivalenceCall] {
        var calls: [EquivalenceCall] = []
        while calls.count < count { calls += burst() }
        for index in calls.indices { calls[index].way = random.below(2) }
        return calls
    }

    /// Mostly a change with the same questions before and after it: what the first ones leave in a cache is what
    /// the change must take back.
    mutating func burst() -> [EquivalenceCall] {
        let user = random.below(3)
        if random.chance(30) { return [EquivalenceCall(user: user, words: asking())] }
        let words = random.chance(40) ? making() : changing()
        let object = words[0] == "symlink" ? words[2] : words[1]
        // In the beginning the directories are Alice's and the files Bob's.
        let owner = Self.directories.contains(object) ? 0 : 1
        let change = EquivalenceCall(user: random.chance(70) ? owner : user, words: words)
        let places = [object] + Self.files.filter { $0.hasPrefix(object + "/") }
        let questions = (0..<3).map { _ in
            let place = random.pick(places)
            let question = random.pick([["attributes", place], ["attributes", place], ["open", place, "0"], ["names", object]])
            return EquivalenceCall(user: random.below(3), words: question)
        }
        return questions + [change] + questions
    }

    mutating func asking() -> [String] {
        switch random.below(9) {
        case 0, 1, 2: ["attributes", path()]
        case 3: ["open", path(), String(O_RDONLY)]
        case 4: ["open", file(), String(O_WRONLY)]
        case 5: ["access", path(), String(random.below(8)), "0"]
        case 6, 7: ["names", directory()]
        default: ["getxattr", path(), random.pick(["system.aclfs.acl", "system.aclfs.flags", "user.x"])]
        }
    }

    mutating func making() -> [String] {
        switch random.below(12) {
        case 0, 1, 2, 3: ["mkdir", directory(), random.pick(Self.modes), "0"]
        case 4, 5, 6: ["create", file(), random.pick(Self.modes), "0"]
        case 7: ["rename"] + paths() + [random.pick(["0", "0", "1", "2"])]
        case 8: ["link", file(), file()]
        case 9: ["unlink", file()]
        case 10: ["rmdir", directory()]
        default: ["symlink", random.pick(["a", "b", "x", "../a", "../x"]), path()]
        }
    }

    mutating func changing() -> [String] {
        switch random.below(12) {
        case 0, 1, 2, 3: ["chmod", path(), random.pick(Self.modes)]
        case 4, 5, 6: ["setxattr", path(), "system.aclfs.acl", random.pick(Self.lists)]
        case 7: ["removexattr", path(), "system.aclfs.acl"]
        case 8: ["setxattr", path(), "system.aclfs.flags", random.pick(["uchg", "uappnd", "-", "-", "-"])]
        case 9: ["chown", path(), "-1", random.pick(["20", "600", "601"])]
        case 10: ["setxattr", path(), "user.x", random.pick(["1", "22"])]
        default: ["truncate", file(), String(random.below(3))]
        }
    }
}
