import Authorization
import Glibc
import Identity
import LinuxSystem
import Testing

@Suite("membership from the directory service")
struct DirectoryGroupsTests {
    private let database = SlowDatabase()

    private func cache(milliseconds: UInt32, timeout: UInt64 = 5000, limit: Int = 4096) -> GroupCache {
        var limits = AccountService.Limits()
        limits.timeout = timeout
        let service = AccountService(limits: limits) { [database] in database.answer($0) }
        return GroupCache(
            milliseconds: milliseconds, directory: DirectoryGroups(service, milliseconds: milliseconds, limit: limit))
    }

    /// The caller is this thread, so that its own list is known.
    private func membership(_ gid: UInt32, _ cache: GroupCache, tid: Int32 = Syscall.threadID) -> Membership {
        var credential = RequestCredential(uid: geteuid(), gid: getegid(), tid: tid, cache: cache)
        return credential.membership(inGroup: gid)
    }

    /// Somebody whose thread cannot be found.
    private func stranger(_ gid: UInt32, _ cache: GroupCache, uid: UInt32 = 4000) -> Membership {
        var credential = RequestCredential(uid: uid, gid: 4001, tid: 0, cache: cache)
        return credential.membership(inGroup: gid)
    }

    @Test("the directory makes members; the process' own list and gid still count")
    func union() throws {
        database.release()
        database.set(.groups([70, 71]), ofUser: 4000)
        let cache = cache(milliseconds: 60_000)
        cache.prepare(uid: 4000)
        #expect(stranger(70, cache) == .member && stranger(71, cache) == .member)
        #expect(stranger(4001, cache) == .member)
        // The directory says no, but of the process nothing is known.
        #expect(stranger(72, cache) == .unknown)
    }

    @Test("what was not learned before the request is unknown, and never asked in between")
    func unlearned() throws {
        database.release()
        database.set(.groups([70]), ofUser: 4000)
        let cache = cache(milliseconds: 60_000)
        #expect(stranger(70, cache) == .unknown)
        #expect(database.asked.isEmpty)
    }

    @Test("a database that hangs or fails makes membership unknown, not absent")
    func failing() throws {
        let cache = cache(milliseconds: 0, timeout: 50)
        cache.prepare(uid: 4000)
        #expect(stranger(70, cache) == .unknown)
        database.release()
        database.set(.failed(.io), ofUser: 4000)
        for _ in 0..<100 {
            cache.prepare(uid: 4000)
            #expect(stranger(70, cache) == .unknown)
        }
        database.set(.groups([70]), ofUser: 4000)
        // The thread that hung comes back in its own time.
        for _ in 0..<2000 where stranger(70, cache) != .member {
            usleep(5000)
            cache.prepare(uid: 4000)
        }
        #expect(stranger(70, cache) == .member)
    }

    @Test("a member who is known turns unknown as soon as asking again fails")
    func losing() throws {
        database.release()
        database.set(.groups([70]), ofUser: 4000)
        let cache = cache(milliseconds: 0)
        cache.prepare(uid: 4000)
        #expect(stranger(70, cache) == .member)
        database.set(.failed(.io), ofUser: 4000)
        cache.prepare(uid: 4000)
        #expect(stranger(70, cache) == .unknown)
    }

    @Test("a list is kept for its time and not longer")
    func lifetime() throws {
        database.release()
        let cache = cache(milliseconds: 2000)
        cache.prepare(uid: 4000)
        database.set(.groups([70]), ofUser: 4000)
        cache.prepare(uid: 4000)
        #expect(database.asked.count == 1 && stranger(70, cache) == .unknown)
        usleep(2_010_000)
        cache.prepare(uid: 4000)
        #expect(database.asked.count == 2 && stranger(70, cache) == .member)
    }

    @Test("root and nobody are not asked about, and lists stay within their bound")
    func bounds() throws {
        database.release()
        let groups = DirectoryGroups(
            AccountService { [database] in database.answer($0) }, milliseconds: 60_000, limit: 3)
        groups.learn(0)
        groups.learn(.max)
        #expect(database.asked.isEmpty)
        for uid in 1..<20 {
            groups.learn(UInt32(uid))
            #expect(groups.count <= 3)
        }
    }

    @Test("the own process is no member of a group that neither list has")
    func ownProcess() throws {
        database.release()
        database.set(.groups([70]), ofUser: geteuid())
        let cache = cache(milliseconds: 60_000)
        // Root is not asked about: what the directory would say of him is unknown.
        cache.prepare(uid: geteuid())
        let expected: Membership = geteuid() == 0 ? .unknown : .notMember
        #expect(membership(3_999_999_998, cache) == expected)
        #expect(membership(getegid(), cache) == .member)
    }
}
