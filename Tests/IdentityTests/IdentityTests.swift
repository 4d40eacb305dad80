import Authorization
import Glibc
import Identity
import LinuxSystem
import Testing

@Suite("accounts and names")
struct AccountTests {
    @Test("root is found by name and by number, and absent accounts are not errors")
    func lookUp() throws {
        let root = try #require(try AccountDatabase.user(named: "root"))
        #expect(root.name == "root" && root.uid == 0 && root.gid == 0)
        #expect(try AccountDatabase.user(uid: 0)?.name == "root")
        #expect(try AccountDatabase.group(named: "root")?.gid == 0)
        #expect(try AccountDatabase.group(gid: 0)?.name == "root")
        #expect(try AccountDatabase.user(named: "no-such-user-here") == nil)
        #expect(try AccountDatabase.group(gid: 3_999_999_999) == nil)
        #expect(AccountDatabase.groups(ofUser: "root", gid: 77).contains(77))
    }

    @Test("a bare name is a user first, then a group; a prefix asks for one kind only")
    func resolve() throws {
        #expect(try AccountNames.resolve(name: "root") == GUID(user: 0))
        #expect(try AccountNames.resolve(name: "root", kind: .group) == GUID(group: 0))
        let shadow = try #require(try AccountDatabase.group(named: "shadow"))
        #expect(try AccountNames.resolve(name: "shadow") == GUID(group: shadow.gid))
        #expect(try AccountNames.resolve(name: "shadow", kind: .user) == nil)
    }

    @Test("numbers need a kind, and -1 is nobody")
    func numbers() throws {
        #expect(try AccountNames.resolve(name: "1500", kind: .user) == GUID(user: 1500))
        #expect(try AccountNames.resolve(name: "1500", kind: .group) == GUID(group: 1500))
        #expect(try AccountNames.resolve(name: "1500") == nil)
        #expect(try AccountNames.resolve(name: "4294967295", kind: .user) == nil)
        #expect(try AccountNames.resolve(name: "+1", kind: .user) == nil)
    }

    @Test("everyone is everyone, whatever the databases say")
    func everyone() throws {
        #expect(try AccountNames.resolve(name: "everyone") == .everyone)
        #expect(try AccountNames.resolve(name: "everyone", kind: .group) == .everyone)
        #expect(try AccountNames.resolve(name: "everyone", kind: .user) == nil)
        let named = try #require(AccountNames.name(for: .everyone))
        #expect(named == (true, "everyone"))
    }

    @Test("identities are named; the well-known others and strangers are not")
    func names() throws {
        #expect(try #require(AccountNames.name(for: GUID(user: 0))) == (false, "root"))
        #expect(try #require(AccountNames.name(for: GUID(group: 0))) == (true, "root"))
        #expect(AccountNames.name(for: GUID(user: 3_999_999_999)) == nil)
        for identity in [GUID.owner, .owningGroup, .nobody, GUID(high: 1, low: 2)] {
            #expect(AccountNames.name(for: identity) == nil)
        }
        // A group whose plain identity would read as a well-known one.
        if let group = try AccountDatabase.group(gid: 12) {
            #expect(AccountNames.name(for: GUID(group: 12))?.name == group.name)
            #expect(try AccountNames.resolve(name: group.name, kind: .group) == GUID(group: 12))
        }
    }

    @Test("--as takes a login's groups, or the given ones instead")
    func directoryCredential() throws {
        let root = try DirectoryCredential("root")
        #expect(root.uid == 0 && root.membership(inGroup: 0) == .member)
        #expect(root.membership(inGroup: 3_999_999_999) == .notMember)
        let given = try DirectoryCredential("root:shadow,1500")
        let shadow = try #require(try AccountDatabase.group(named: "shadow"))
        #expect(given.gid == shadow.gid && given.membership(inGroup: 1500) == .member)
        #expect(given.membership(inGroup: 0) == .notMember)
        let stranger = try DirectoryCredential("3999999999")
        #expect(stranger.uid == 3_999_999_999 && stranger.membership(inGroup: 0) == .unknown)
        #expect(try DirectoryCredential("3999999999:5").membership(inGroup: 0) == .notMember)
        #expect(throws: DirectoryCredential.Failure.noUser("no-such-user")) {
            _ = try DirectoryCredential("no-such-user")
        }
        #expect(throws: DirectoryCredential.Failure.noGroup("")) { _ = try DirectoryCredential("root:") }
    }
}

@Suite("credentials of requests")
struct RequestCredentialTests {
    let cache = GroupCache()

    @Test("a thread with the request's ids has the groups that /proc shows", .enabled(if: geteuid() == 0, "needs root"))
    func groups() throws {
        let child = try Child(uid: 1234, gid: 1235, groups: [7, 8])
        var credential = RequestCredential(uid: 1234, gid: 1235, tid: child.pid, cache: cache)
        #expect(credential.membership(inGroup: 7) == .member && credential.membership(inGroup: 8) == .member)
        #expect(credential.membership(inGroup: 1235) == .member)
        #expect(credential.membership(inGroup: 9) == .notMember && credential.membership(inGroup: 0) == .notMember)
        #expect(credential.membership(inGroup: .max) == .unknown)

        // The same thread, but not the same ids: borrowed credentials.
        for (uid, gid) in [(UInt32(1233), UInt32(1235)), (1234, 1236)] {
            var borrowed = RequestCredential(uid: uid, gid: gid, tid: child.pid, cache: cache)
            #expect(borrowed.membership(inGroup: 7) == .unknown && borrowed.membership(inGroup: 9) == .unknown)
            #expect(borrowed.membership(inGroup: gid) == .member && borrowed.uid == uid)
        }
    }

    @Test("a list is used again within its lifetime, and not at all when that is zero", .enabled(if: geteuid() == 0, "needs root"))
    func lifetime() throws {
        let (long, none) = (GroupCache(milliseconds: 60_000), GroupCache(milliseconds: 0))
        let child = try Child(uid: 1234, gid: 1235, groups: [7])
        for cache in [long, none] { #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1235)?.list == [7]) }
        child.end()
        #expect(long.groups(tid: child.pid, uid: 1234, gid: 1235)?.list == [7])
        #expect(none.groups(tid: child.pid, uid: 1234, gid: 1235) == nil)
        #expect(long.count == 1 && none.count == 0)
    }

    @Test("one request reads its groups once, whatever the lifetime and whatever happens meanwhile", .enabled(if: geteuid() == 0))
    func onceForEachRequest() throws {
        for lifetime: UInt32 in [0, 60_000] {
            let cache = GroupCache(milliseconds: lifetime)
            let child = try Child(uid: 1234, gid: 1235, groups: [7])
            var first = RequestCredential(uid: 1234, gid: 1235, tid: child.pid, request: 5, cache: cache)
            #expect(first.membership(inGroup: 7) == .member)
            // A list that could not be read any more.
            child.end()
            var second = RequestCredential(uid: 1234, gid: 1235, tid: child.pid, request: 5, cache: cache)
            #expect(second.membership(inGroup: 7) == .member)
            var next = RequestCredential(uid: 1234, gid: 1235, tid: child.pid, request: 6, cache: cache)
            #expect(next.membership(inGroup: 7) == (lifetime == 0 ? .unknown : .member))
        }
    }

    @Test("a request that could not read its groups does not read them again", .enabled(if: geteuid() == 0))
    func unknownForTheWholeRequest() throws {
        let cache = GroupCache(milliseconds: 60_000)
        let child = try Child(uid: 1234, gid: 1235, groups: [7])
        // Not its ids: nothing is known.
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1, request: 5) == nil)
        #expect(cache.count == 1)
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1, request: 5) == nil)
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1235, request: 5)?.list == [7])
        // A thread that takes these ids is known by the next request only.
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1235, request: 6)?.list == [7])
    }

    @Test("the list that a request was answered from is its own to the end", .enabled(if: geteuid() == 0))
    func lifetimeThatEndsWithinARequest() throws {
        let cache = GroupCache(milliseconds: 200)
        let child = try Child(uid: 1234, gid: 1235, groups: [7])
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1235, request: 1)?.list == [7])
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1235, request: 2)?.list == [7])
        child.end()
        SystemTime.sleep(milliseconds: 250)
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1235, request: 2)?.list == [7])
        #expect(cache.groups(tid: child.pid, uid: 1234, gid: 1235, request: 1) == nil)
    }

    @Test("nobody's groups are known without a thread, or without ids")
    func unknown() {
        for tid in [Int32(0), -1, .max] {
            var credential = RequestCredential(uid: 1, gid: 2, tid: tid, cache: cache)
            #expect(credential.membership(inGroup: 3) == .unknown)
            #expect(credential.membership(inGroup: 2) == .member)
        }
        var nobody = RequestCredential(uid: .max, gid: .max, tid: Syscall.threadID, cache: cache)
        #expect(nobody.membership(inGroup: 0) == .unknown && nobody.membership(inGroup: .max) == .unknown)
        #expect(cache.count == 0)
    }

    @Test("the cache stays within its bound")
    func bound() throws {
        let small = GroupCache(milliseconds: 60_000, limit: 2)
        let pid = getpid()
        let (uid, gid) = (geteuid(), getegid())
        let tasks = try Syscall.open("/proc/\(pid)/task", OpenFlag.readOnly)
        for task in try Syscall.names(tasks.rawValue) {
            guard let tid = Int32(String(decoding: task, as: UTF8.self)) else { continue }
            _ = small.groups(tid: tid, uid: uid, gid: gid)
            #expect(small.count <= 2)
        }
        #expect(small.groups(tid: pid, uid: uid, gid: gid) != nil)
    }
}

/// A sleeping process under other ids.
private final class Child {
    let pid: pid_t
    private var ended = false

    init(uid: UInt32, gid: UInt32, groups: [UInt32]) throws {
        let list = groups.map(String.init).joined(separator: ",")
        let arguments = ["setpriv", "--reuid=\(uid)", "--regid=\(gid)", "--groups=\(list)", "sleep", "60"]
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, "setpriv", nil, nil, &pointers, environ)
        guard code == 0 else { throw Errno(rawValue: code) }
        self.pid = pid
        for _ in 0..<2000 {
            let status = try ThreadIdentity.read(tid: pid)
            if status.fsuid == uid, status.fsgid == gid { return }
            usleep(1000)
        }
        throw Errno.timedout
    }

    func end() {
        if ended { return }
        ended = true
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    deinit { end() }
}
