import ACLFormats
import Authorization
import Glibc
import Identity
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@Suite("account databases that hang")
struct AccountServiceTests {
    private let database = SlowDatabase()

    private func service(_ change: (inout AccountService.Limits) -> Void = { _ in }) -> AccountService {
        var limits = AccountService.Limits()
        (limits.timeout, limits.idleTime) = (600, 200)
        change(&limits)
        return AccountService(limits: limits) { [database] in database.answer($0) }
    }

    private func milliseconds(_ body: () -> Void) -> UInt64 {
        let start = SystemTime.monotonic()
        body()
        return (SystemTime.monotonic() - start) / 1_000_000
    }

    @Test("a question is given up at its deadline, and its late answer is kept")
    func deadline() throws {
        let service = service()
        let time = milliseconds { #expect(service.answer(to: .user(7), by: service.deadline()) == nil) }
        #expect(time >= 590 && time < 5000)
        // Overdue: the next one does not wait at all.
        let again = milliseconds { #expect(service.answer(to: .user(7), by: service.deadline()) == nil) }
        #expect(again < 500)
        database.release()
        let answer = service.answer(to: .user(8), by: SystemTime.monotonic() + 5_000_000_000)
        #expect(answer == .user(.init(name: "user8", uid: 8, gid: 8)))
        eventually { service.load.answers >= 2 }
        #expect(service.answer(to: .user(7), by: service.deadline()) == .user(.init(name: "user7", uid: 7, gid: 7)))
        #expect(database.asked.count == 2)
    }

    @Test("threads and waiting questions are bounded, and nobody waits when all threads hang")
    func bounds() throws {
        let service = service { ($0.threads, $0.questions) = (2, 3) }
        let refused = Atomic(0)
        let threads = try (0..<40).map { number in
            try JoinedThread {
                if service.answer(to: .user(UInt32(number)), by: service.deadline()) == nil {
                    refused.add(1, ordering: .relaxed)
                }
            }
        }
        for _ in 0..<200 {
            #expect(service.threadCount <= 2 && service.load.questions <= 5)
            usleep(1000)
        }
        for thread in threads { thread.join() }
        #expect(refused.load(ordering: .relaxed) == 40)
        #expect(database.asked.count == 2)
        // What nobody waits for any more does not stay in the queue.
        #expect(service.load.questions == 2)
        // Threads may have begun later than they were asked.
        usleep(600_000)
        let again = milliseconds { #expect(service.answer(to: .user(99), by: service.deadline()) == nil) }
        #expect(again < 500)
        database.release()
        eventually { service.load.questions == 0 }
        #expect(service.answer(to: .user(99), by: service.deadline() + 1_000_000_000) != nil)
    }

    @Test("a user who asks for many accounts delays nobody else's question by more than one answer")
    func turns() throws {
        let service = service { ($0.threads, $0.questions, $0.questionsOfOne, $0.timeout) = (1, 8, 6, 3_600_000) }
        let refused = Atomic(0)
        // The first one is asked before the others come: they wait in the queue.
        var threads: [JoinedThread] = []
        for number in 0..<20 {
            if number == 1 { eventually(within: 600) { database.asked.count == 1 } }
            threads.append(
                try JoinedThread {
                    if service.answer(to: .user(UInt32(100 + number)), by: service.deadline(), for: 1) == nil {
                        refused.add(1, ordering: .relaxed)
                    }
                })
        }
        // However long a busy machine takes to run them all.
        eventually(within: 600) { refused.load(ordering: .relaxed) == 13 }
        #expect(refused.load(ordering: .relaxed) == 13 && service.load.questions == 7)
        // The queue has no room for two more of others but of such who have none.
        for user: UInt32 in 2...4 {
            threads.append(try JoinedThread { _ = service.answer(to: .user(user), by: service.deadline(), for: user) })
            eventually(within: 600) { service.load.questions == 6 + Int(user) - 1 + 1 }
        }
        #expect(service.load.questions == 10)
        database.release()
        for thread in threads { thread.join() }
        // The one that was asked already, then the others', then the rest.
        #expect(database.asked.dropFirst().prefix(3) == [.user(2), .user(3), .user(4)], "\(database.asked)")
    }

    @Test("threads without work end")
    func idle() throws {
        database.release()
        let service = service()
        #expect(service.answer(to: .user(1), by: service.deadline() + 1_000_000_000) != nil)
        #expect(service.threadCount == 1)
        eventually { service.threadCount == 0 }
        #expect(service.threadCount == 0)
        #expect(service.answer(to: .user(2), by: service.deadline() + 1_000_000_000) != nil)
    }

    @Test("answers are kept for a while, absence for a shorter one, and never too many")
    func keeping() throws {
        database.release()
        let service = service { ($0.lifetime, $0.absenceLifetime, $0.answers, $0.timeout) = (60_000, 1, 3, 2000) }
        for _ in 0..<3 { _ = service.answer(to: .user(1), by: service.deadline()) }
        #expect(database.asked == [.user(1)])
        _ = service.answer(to: .userNamed("x"), by: service.deadline())
        usleep(5000)
        _ = service.answer(to: .userNamed("x"), by: service.deadline())
        #expect(database.asked == [.user(1), .userNamed("x"), .userNamed("x")])
        for uid in 2..<20 { _ = service.answer(to: .user(UInt32(uid)), by: service.deadline()) }
        #expect(service.load.answers <= 3)
        // Whoever needs it fresh gets it fresh.
        let before = database.asked.count
        _ = service.answer(to: .user(19), by: service.deadline(), anew: true)
        #expect(database.asked.count == before + 1)
    }

    @Test("a text's names share one deadline and fall back to numbers and nothing")
    func names() throws {
        let service = service()
        let names = AccountIdentityNames(TimedAccounts(service))
        // 51 questions, which would take 30 seconds one after the other.
        let time = milliseconds {
            for uid in 0..<50 { #expect(names.name(of: GUID(user: UInt32(uid))) == nil) }
            #expect(names.identity(named: "bob", kind: nil) == nil)
        }
        #expect(time < 5000)
        #expect(throws: DirectoryCredential.Failure.system(.timedout)) {
            _ = try DirectoryCredential("bob", from: TimedAccounts(service))
        }
        database.release()
        let known = AccountIdentityNames(TimedAccounts(self.service { $0.timeout = 5000 }))
        #expect(known.name(of: GUID(user: 3))?.name == "user3")
    }

    @Test("the real databases answer through the service")
    func real() throws {
        let accounts = TimedAccounts(AccountService())
        #expect(try accounts.user(named: "root")?.uid == 0)
        #expect(try accounts.group(gid: 0)?.name == "root")
        #expect(try accounts.user(named: "no-such-user-here") == nil)
        #expect(try accounts.groups(ofUser: 0).contains(0))
        #expect(try accounts.groups(ofUser: 3_999_999_999) == [])
        #expect(try DirectoryCredential("root", from: accounts).membership(inGroup: 0) == .member)
    }
}
