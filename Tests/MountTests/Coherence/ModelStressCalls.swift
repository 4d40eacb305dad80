import Glibc
import TestSupport

/// Random calls of six processes, root's among them: besides the questions and changes of `EquivalenceCallGenerator`
/// contents, open files, set-id bits, inherited entries, and questions that are under way while something changes.
struct ModelStressCallGenerator {
    private var basic: EquivalenceCallGenerator

    private static let root = 5
    private static let lists = [
        "everyone allow search,list,file_inherit,directory_inherit",
        "user:#502 deny write,append,file_inherit,only_inherit\nuser:#502 allow search,add_file",
        "group:#600 allow delete_child,limit_inherit,directory_inherit\neveryone deny delete,file_inherit,limit_inherit",
        "user:#503 inherited allow append\nuser:#503 deny write", "user:#502 allow append\nuser:#502 deny write",
        "user:#503 deny append\nuser:#503 allow write,read",
        "ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A deny writeattr,delete",
        "ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000010 deny list,search",
        "user:#502 deny readextattr\nuser:#503 allow writeextattr", "everyone deny writesecurity\neveryone allow write",
        "user:#502 allow delete\nuser:#503 deny add_file", "user:#503 allow writeattr,writesecurity", "everyone deny read",
        "group:#601 allow read\ngroup:#601 deny read,write\neveryone allow write", "user:#502 allow execute,delete_child",
    ]
    private static let setIDModes = ["04755", "04777", "02770", "06711", "02755", "04666"]
    private static let flags = ["uchg", "uappnd", "hidden", "uappnd,hidden", "-", "-", "-", "opaque"]
    private static let rootsFlags = ["schg", "sappnd", "sunlnk", "arch", "-", "-", "-", "-"]
    private static let opens = [
        O_RDONLY, O_WRONLY, O_RDWR, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_APPEND, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT,
    ]

    init(seed: UInt64) { basic = EquivalenceCallGenerator(seed: seed) }

    mutating func calls(_ count: Int) -> [EquivalenceCall] {
        var calls: [EquivalenceCall] = []
        while calls.count < count {
            switch basic.random.below(10) {
            case 0, 1, 2, 3: calls += spread(basic.burst())
            case 4, 5: calls += fileBurst()
            case 6, 7: calls += concurrentBurst()
            default: calls += spread([EquivalenceCall(user: process(), words: another())])
            }
        }
        return calls
    }

    private mutating func process() -> Int { basic.random.below(EquivalenceCall.users.count) }

    /// Calls of Alice's and Bob's come from two processes each; some are root's.
    private mutating func spread(_ calls: [EquivalenceCall]) -> [EquivalenceCall] {
        calls.map { call in
            var call = call
            if call.user < 2, basic.random.chance(40) { call.user += 3 }
            if basic.random.chance(4) { call.user = Self.root }
            return call
        }
    }

    private mutating func another() -> [String] {
        switch basic.random.below(16) {
        case 0, 1: ["setxattr", basic.path(), "system.aclfs.acl", basic.random.pick(Self.lists)]
        case 2, 3: ["setxattr", basic.path(), "system.aclfs.flags", basic.random.pick(Self.flags)]
        case 4: ["setxattr", basic.path(), "system.aclfs.flags", basic.random.pick(Self.rootsFlags)]
        case 5: ["chmod", basic.path(), basic.random.pick(Self.setIDModes)]
        case 6: ["chown", basic.path(), basic.random.pick(["501", "502", "-1", "503"]), basic.random.pick(["-1", "20", "600"])]
        case 7: ["copy", basic.file(), basic.file()]
        case 8: ["utimes", basic.path(), basic.random.pick(["now", "explicit"])]
        case 9: ["readlink", basic.path()]
        case 10: ["listxattr", basic.path()]
        case 11: ["removexattr", basic.path(), basic.random.pick(["user.x", "system.aclfs.flags", "system.aclfs.acl"])]
        // Not to create: of `open` the umask that the test was started with would say the mode.
        case 12: ["open", basic.file(), String(basic.random.pick(Self.opens.filter { $0 & O_CREAT == 0 }))]
        case 13: ["truncate", basic.file(), String(basic.random.below(9000))]
        default: basic.making()
        }
    }

    /// Two processes hold one file, write and read, and something happens to it meanwhile.
    private mutating func fileBurst() -> [EquivalenceCall] {
        let file = basic.file()
        let holders = [process(), process()]
        let slot = String(1 + basic.random.below(3))
        var calls = holders.map { holder in
            EquivalenceCall(user: holder, words: ["hold", slot, file, String(basic.random.pick(Self.opens)), "0600"])
        }
        for _ in 0..<basic.random.below(9) {
            let words =
                switch basic.random.below(12) {
                case 0, 1, 2: ["pwrite", slot, String(basic.random.below(6000)), basic.random.pick(["one", "twotwo", "3"])]
                case 3, 4, 5: ["pread", slot, String(basic.random.pick([0, 0, 3000, 5990]))]
                case 6: ["ftruncate", slot, String(basic.random.below(7000))]
                case 7: ["fallocate", slot, basic.random.pick(["0", "3"]), String(basic.random.below(6000)), "500"]
                case 8: ["setfl", slot, String(basic.random.chance(50) ? 0 : O_APPEND)]
                case 9: ["fchmod", slot, basic.random.pick(EquivalenceCallGenerator.modes)]
                default: another().replacingPath(file)
                }
            calls.append(EquivalenceCall(user: basic.random.pick(holders), words: words))
            if basic.random.chance(30) {
                calls.append(EquivalenceCall(user: process(), words: ["attributes", file]))
            }
        }
        if basic.random.chance(30) {
            let lister = process()
            calls += [
                EquivalenceCall(user: lister, words: ["hold", "4", basic.directory(), String(O_RDONLY), "0"]),
                EquivalenceCall(user: process(), words: basic.changing()),
                EquivalenceCall(user: lister, words: ["relist", "4"]), EquivalenceCall(user: lister, words: ["close", "4"]),
            ]
        }
        return calls + holders.map { EquivalenceCall(user: $0, words: ["close", slot]) }
    }

    /// A change, questions of others while it is under way, and the same once more when it is over.
    private mutating func concurrentBurst() -> [EquivalenceCall] {
        let words = basic.random.chance(60) ? basic.changing() : basic.random.chance(50) ? another() : basic.making()
        let change = EquivalenceCall(user: process(), words: words)
        let object = change.words[change.words[0] == "symlink" ? 2 : 1]
        let places = [object] + EquivalenceCallGenerator.files.filter { $0.hasPrefix(object + "/") }
        var questions: [EquivalenceCall] = []
        for _ in 0..<4 {
            let place = basic.random.pick(places)
            let question = basic.random.pick([
                ["attributes", place], ["attributes", place], ["access", place, String(basic.random.below(8)), "0"],
                ["open", place, "0"], ["getxattr", place, "system.aclfs.acl"],
            ])
            questions.append(EquivalenceCall(user: process(), words: question))
        }
        let joining = questions.map { call in
            var call = call
            call.joins = true
            return call
        }
        return questions + [change] + joining + questions
    }
}

extension [String] {
    /// The same call on another object.
    fileprivate func replacingPath(_ path: String) -> [String] {
        guard count > 1, self[1].hasPrefix("/") else { return self }
        var words = self
        words[1] = path
        return words
    }
}
