/// Which decisions become lines of the log, in which order, and what is left out (docs/audit.md "Limits").
///
/// Each user has queues and counts of its own, and the users take turns. What one user causes fills that user's queues alone, so it
/// delays the lines of others and never removes one. A user's new (object, operation) goes before what the log has already.
///
/// Everything here is bounded: users, lines that wait, what is remembered of each user. It is told the time, and knows no clock.
struct FairLines<Line> {
    struct Limits {
        /// Lines in a second.
        var all: UInt32
        /// Of one user in a second.
        var ofUser: UInt32

        /// Repeated lines of one user about one object in a second.
        var ofObject: UInt32 { max(1, ofUser / 2) }
        /// New ones of one user that may wait.
        var newWaiting: Int { min(16 * Int(ofUser), FairLinesBound.waiting) }

        /// What is allowed takes half, so that it crowds no denial out.
        func most(_ limit: UInt32, allowed isAllowed: Bool) -> UInt32 { isAllowed ? max(1, limit / 2) : limit }
    }
    /// What a decision is about.
    struct Event {
        var uid: UInt32
        var object: UInt64?
        var operation: String
        var isAllowed = false
    }
    /// Of one user, or of those for whom there was no room (`uid` is nil).
    struct LeftOut {
        var uid: UInt32?
        var all: Int64 = 0
        var denied: Int64 = 0
        var operations: [String: Int64] = [:]

        fileprivate mutating func add(_ event: Event) {
            all += 1
            if !event.isAllowed { denied += 1 }
            operations[event.operation, default: 0] += 1
        }

        fileprivate mutating func add(_ other: LeftOut) {
            all += other.all
            denied += other.denied
            operations.merge(other.operations, uniquingKeysWith: +)
        }
    }

    private let limits: Limits
    private var users: [User] = []
    private var indexByUser: [UInt32: Int] = [:]
    /// Places of the users with lines that wait, the next one first.
    private var turns: [Int] = []
    private var count = FairCount()
    private var waiting = 0
    private var others = LeftOut()
    private var othersSecond: Int64 = 0

    init(_ limits: Limits) { self.limits = limits }
}

/// How much is kept, whatever is asked.
enum FairLinesBound {
    static let users = 1024
    /// Lines that wait to be written, of all users.
    static let waiting = 10_000
    /// How long a line stands for its like, in seconds.
    static let remembered: Int64 = 60
    /// Users whose summaries are written in one second.
    static let summaries = 100
}

extension FairLines {
    /// A decision at a second of the wall clock. It waits for `take`, or is counted.
    mutating func add(_ line: Line, _ event: Event, at second: Int64) {
        guard let index = index(of: event.uid) else {
            if others.all == 0 { othersSecond = second }
            return others.add(event)
        }
        guard let queue = users[index].queue(for: event, limits, at: second), hasRoom(besides: index) else {
            return users[index].omit(event, at: second)
        }
        if users[index].waiting == 0 { turns.append(index) }
        users[index].append(Waiting(line: line, event: event), to: queue)
        waiting += 1
    }

    /// The lines that may be written in this second: each user in turn gives one, until a limit is reached.
    /// - Parameter isLast: nothing comes after; all that waits is returned.
    mutating func take(at second: Int64, isLast: Bool = false) -> [Line] {
        var taken: [Line] = []
        var hasTaken = true
        while hasTaken, waiting > 0 {
            hasTaken = false
            for _ in 0..<turns.count {
                if !isLast, count.all(at: second) >= limits.all { return taken }
                let index = turns.removeFirst()
                let allowsAllowed = isLast || count.allowed(at: second) < limits.most(limits.all, allowed: true)
                if let next = users[index].take(limits, at: second, isLast: isLast, allowsAllowed: allowsAllowed) {
                    count.add(allowed: next.event.isAllowed, at: second)
                    waiting -= 1
                    taken.append(next.line)
                    hasTaken = true
                }
                if users[index].waiting > 0 { turns.append(index) }
            }
        }
        return taken
    }

    /// What was left out in seconds that are over, of so many users at a time; what is not returned is kept.
    /// - Parameter isLast: of this second, too, and of all.
    mutating func takeLeftOut(at second: Int64, isLast: Bool = false) -> [LeftOut] {
        var summaries: [LeftOut] = []
        if others.all > 0, isLast || othersSecond != second {
            summaries.append(others)
            others = LeftOut()
        }
        for index in users.indices where users[index].leftOut.all > 0 && (isLast || users[index].leftOutSecond != second) {
            guard isLast || summaries.count < FairLinesBound.summaries else { break }
            summaries.append(users[index].leftOut)
            users[index].leftOut = LeftOut(uid: users[index].uid)
        }
        return summaries
    }

    /// Where all that may wait does, who has most of it loses the newest.
    private mutating func hasRoom(besides index: Int) -> Bool {
        guard waiting >= FairLinesBound.waiting else { return true }
        guard let longest = turns.max(by: { users[$0].waiting < users[$1].waiting }),
            users[longest].waiting > users[index].waiting, users[longest].removeNewest()
        else { return false }
        waiting -= 1
        if users[longest].waiting == 0 { turns.removeAll { $0 == longest } }
        return true
    }

    /// nil if there is no room for one more user.
    private mutating func index(of uid: UInt32) -> Int? {
        if let index = indexByUser[uid] { return index }
        guard users.count >= FairLinesBound.users else {
            users.append(User(uid))
            indexByUser[uid] = users.count - 1
            return users.count - 1
        }
        // Each user with lines that wait has a turn.
        guard turns.count < users.count else { return nil }
        var oldest: Int?
        for index in users.indices where users[index].waiting == 0 {
            if let known = oldest, users[known].second <= users[index].second { continue }
            oldest = index
        }
        guard let idle = oldest else { return nil }
        if others.all == 0 { othersSecond = users[idle].leftOutSecond }
        others.add(users[idle].leftOut)
        indexByUser[users[idle].uid] = nil
        users[idle] = User(uid)
        indexByUser[uid] = idle
        return idle
    }
}

// MARK: One user

extension FairLines {
    fileprivate struct Waiting {
        var line: Line
        var event: Event
    }
    /// In the order in which they are taken.
    fileprivate enum Queue: Int, CaseIterable { case newDenied, repeatedDenied, newAllowed, repeatedAllowed }

    fileprivate struct User {
        let uid: UInt32
        /// The last one with a decision.
        private(set) var second: Int64 = 0
        var leftOut: LeftOut
        private(set) var leftOutSecond: Int64 = 0
        private(set) var waiting = 0
        private var queues = [FairQueue<Waiting>](repeating: FairQueue(), count: Queue.allCases.count)
        private var written = FairCount()
        private var recent = RecentDecisions()

        init(_ uid: UInt32) { (self.uid, leftOut) = (uid, LeftOut(uid: uid)) }

        /// Where a decision waits; nil if it is one too many.
        mutating func queue(for event: Event, _ limits: Limits, at second: Int64) -> Queue? {
            self.second = second
            let (isNew, ofObject) = recent.add(event.object, event.operation, event.isAllowed, at: second)
            if isNew {
                let queue: Queue = event.isAllowed ? .newAllowed : .newDenied
                return queues[queue.rawValue].count < limits.newWaiting ? queue : nil
            }
            let queue: Queue = event.isAllowed ? .repeatedAllowed : .repeatedDenied
            let before = event.isAllowed ? written.allowed(at: second) : written.all(at: second)
            let most = limits.most(limits.ofUser, allowed: event.isAllowed)
            guard Int(before) + queues[queue.rawValue].count < Int(most), ofObject <= limits.ofObject else { return nil }
            return queue
        }

        mutating func append(_ line: Waiting, to queue: Queue) {
            queues[queue.rawValue].append(line)
            waiting += 1
        }

        mutating func omit(_ event: Event, at second: Int64) {
            leftOut.add(event)
            leftOutSecond = second
        }

        mutating func take(_ limits: Limits, at second: Int64, isLast: Bool, allowsAllowed: Bool) -> Waiting? {
            for queue in Queue.allCases where queues[queue.rawValue].count > 0 {
                let isAllowed = queue == .newAllowed || queue == .repeatedAllowed
                if !isLast {
                    guard written.all(at: second) < limits.ofUser else { return nil }
                    if isAllowed, !allowsAllowed || written.allowed(at: second) >= limits.most(limits.ofUser, allowed: true) { return nil }
                }
                written.add(allowed: isAllowed, at: second)
                waiting -= 1
                return queues[queue.rawValue].removeFirst()
            }
            return nil
        }

        /// What waits and matters least is left out.
        mutating func removeNewest() -> Bool {
            for queue in Queue.allCases.reversed() {
                guard let line = queues[queue.rawValue].removeLast() else { continue }
                waiting -= 1
                omit(line.event, at: second)
                return true
            }
            return false
        }
    }
}

/// Lines in one second; of another second there were none.
private struct FairCount {
    private var second = Int64.min
    private var all: UInt32 = 0
    private var allowed: UInt32 = 0

    func all(at second: Int64) -> UInt32 { self.second == second ? all : 0 }
    func allowed(at second: Int64) -> UInt32 { self.second == second ? allowed : 0 }

    mutating func add(allowed isAllowed: Bool, at second: Int64) {
        if self.second != second { (self.second, all, allowed) = (second, 0, 0) }
        all += 1
        if isAllowed { allowed += 1 }
    }
}

private struct FairQueue<Element> {
    private var elements: [Element?] = []
    private var start = 0
    var count: Int { elements.count - start }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() -> Element? {
        guard start < elements.count else { return nil }
        let first = elements[start].take()
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: start <= 64)
            start = 0
        } else if start >= 64, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return first
    }

    mutating func removeLast() -> Element? { count > 0 ? elements.removeLast() : nil }
}

/// What was decided lately about one user: a small table in which the oldest makes room.
private struct RecentDecisions {
    private struct Seen {
        var mark: UInt64 = 0
        var second = Int64.min
        /// Of an object in its second.
        var count: UInt32 = 0
    }
    private static let ways = 8
    private static let sets = 32
    private static let objectSets = 8
    private var decisions = [Seen](repeating: Seen(), count: ways * sets)
    private var objects = [Seen](repeating: Seen(), count: ways * objectSets)

    /// - Returns: whether none like it was seen in the last minute, and how many decisions about the object there are in this second.
    mutating func add(
        _ object: UInt64?, _ operation: String, _ isAllowed: Bool, at second: Int64
    ) -> (isNew: Bool, ofObject: UInt32) {
        var hasher = Hasher()
        hasher.combine(object)
        let ofObject = hasher
        let objectMark = UInt64(truncatingIfNeeded: ofObject.finalize())
        hasher.combine(operation)
        hasher.combine(isAllowed)
        let mark = UInt64(truncatingIfNeeded: hasher.finalize())
        let known = Self.index(of: mark, in: &decisions, Self.sets)
        let age = second &- decisions[known].second
        let isNew = decisions[known].mark != mark || age < 0 || age >= FairLinesBound.remembered
        if isNew { decisions[known] = Seen(mark: mark, second: second) }
        let index = Self.index(of: objectMark, in: &objects, Self.objectSets)
        if objects[index].mark != objectMark || objects[index].second != second { objects[index] = Seen(mark: objectMark, second: second) }
        objects[index].count += 1
        return (isNew, objects[index].count)
    }

    /// Where it is, or else the oldest of those that it may replace.
    private static func index(of mark: UInt64, in table: inout [Seen], _ sets: Int) -> Int {
        let start = Int(mark % UInt64(sets)) * ways
        var oldest = start
        for index in start..<start + ways {
            if table[index].mark == mark { return index }
            if table[index].second < table[oldest].second { oldest = index }
        }
        return oldest
    }
}
