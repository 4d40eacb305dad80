/// Chooses the decisions that become lines of the log, and their order (docs/reference/audit.md "Limits"). Each user has bounded queues, and
/// users take turns, so that no user removes the lines of another. The caller passes the time.
struct FairLines<Line> {
    struct Limits {
        /// Lines in a second.
        var all: UInt32
        /// Lines of one user in a second.
        var ofUser: UInt32

        /// Repeated lines of one user about one object in a second.
        var ofObject: UInt32 { max(1, ofUser / 2) }
        /// New lines of one user that may wait.
        var newWaiting: Int { min(16 * Int(ofUser), FairLinesBound.waiting) }

        /// Grants get half of the limit, so that they displace no denial.
        func most(_ limit: UInt32, allowed isAllowed: Bool) -> UInt32 { isAllowed ? max(1, limit / 2) : limit }
    }
    /// What a decision is about.
    struct Event {
        var uid: UInt32
        var object: UInt64?
        var operation: String
        var isAllowed = false
    }
    /// The decisions of one user that became no line, or (uid nil) of the users without a queue.
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
    /// Indices of the users with waiting lines, in the order of their turns.
    private var turns: [Int] = []
    private var count = FairCount()
    private var waiting = 0
    private var others = LeftOut()
    private var othersSecond: Int64 = 0

    init(_ limits: Limits) { self.limits = limits }
}

/// Bounds that no option changes.
enum FairLinesBound {
    static let users = 1024
    /// Waiting lines of all users.
    static let waiting = 10_000
    /// Seconds for which an equal decision counts as repeated.
    static let remembered: Int64 = 60
    /// Users whose summaries are written in one second.
    static let summaries = 100
}

extension FairLines {
    /// Adds a decision. Its line waits for `take`, or the decision is only counted.
    /// - Parameter second: the time of the decision, in seconds since 1970.
    mutating func add(_ line: Line, _ event: Event, at second: Int64) {
        guard let index = findOrAdd(event.uid) else {
            if others.all == 0 { othersSecond = second }
            return others.add(event)
        }
        guard let queue = users[index].chooseQueue(for: event, limits, at: second), makeRoom(besides: index) else {
            return users[index].omit(event, at: second)
        }
        if users[index].waiting == 0 { turns.append(index) }
        users[index].append(Waiting(line: line, event: event), to: queue)
        waiting += 1
    }

    /// Takes the lines for this second: one of each user in turn, up to the limits.
    /// - Parameter isLast: takes all waiting lines.
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

    /// Takes the counts of earlier seconds, of a bounded number of users. The others stay for the next call.
    /// - Parameter isLast: takes all counts, of this second too.
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

    /// If the queues are full, leaves out the newest line of the user with the most waiting lines.
    /// - Returns: false if that is the user of the new line.
    private mutating func makeRoom(besides index: Int) -> Bool {
        guard waiting >= FairLinesBound.waiting else { return true }
        guard let longest = turns.max(by: { users[$0].waiting < users[$1].waiting }),
            users[longest].waiting > users[index].waiting, users[longest].removeNewest()
        else { return false }
        waiting -= 1
        if users[longest].waiting == 0 { turns.removeAll { $0 == longest } }
        return true
    }

    /// Finds the index of a user, or makes one.
    /// - Returns: nil if there is no room for another user.
    private mutating func findOrAdd(_ uid: UInt32) -> Int? {
        if let index = indexByUser[uid] { return index }
        guard users.count >= FairLinesBound.users else {
            users.append(User(uid))
            indexByUser[uid] = users.count - 1
            return users.count - 1
        }
        // Each user with waiting lines has a turn.
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
        /// The second of the last decision.
        private(set) var second: Int64 = 0
        var leftOut: LeftOut
        private(set) var leftOutSecond: Int64 = 0
        private(set) var waiting = 0
        private var queues = [FairQueue<Waiting>](repeating: FairQueue(), count: Queue.allCases.count)
        private var written = FairCount()
        private var recent = RecentDecisions()

        init(_ uid: UInt32) { (self.uid, leftOut) = (uid, LeftOut(uid: uid)) }

        /// Remembers a decision and chooses its queue.
        /// - Returns: nil if the decision exceeds a limit.
        mutating func chooseQueue(for event: Event, _ limits: Limits, at second: Int64) -> Queue? {
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

        /// Leaves out the newest line of the last queue.
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

/// The lines of one second; in any other second the count is 0.
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

/// Recent decisions about one user: a small set-associative table in which a new one replaces the oldest of its set.
private struct RecentDecisions {
    private struct Seen {
        var mark: UInt64 = 0
        var second = Int64.min
        /// Decisions about one object in its second.
        var count: UInt32 = 0
    }
    private static let ways = 8
    private static let sets = 32
    private static let objectSets = 8
    private var decisions = [Seen](repeating: Seen(), count: ways * sets)
    private var objects = [Seen](repeating: Seen(), count: ways * objectSets)

    /// - Returns: whether no equal decision was made in the last minute, and the number of decisions about the object in this
    ///   second.
    mutating func add(_ object: UInt64?, _ operation: String, _ isAllowed: Bool, at second: Int64) -> (isNew: Bool, ofObject: UInt32) {
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

    /// The index of a mark, or of the oldest element of its set.
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
