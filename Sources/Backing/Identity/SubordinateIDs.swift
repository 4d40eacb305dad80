import LinuxSystem
import Synchronization

/// The ids that /etc/subuid or /etc/subgid gives to users for their user namespaces, 65 536 to each as a rule. Who acts as one of them is no
/// other person: limits are the owner's, and so are denies (docs/reference/identity.md "Subordinate ids").
public final class SubordinateIDs: Sendable {
    public static let users = SubordinateIDs("/etc/subuid")
    public static let groups = SubordinateIDs("/etc/subgid")

    private struct State {
        var ranges = SubordinateRanges([])
        /// Of the file that was read last; nil: there was none, or it was not read yet.
        var status: FileStatus?
        var hasRead = false
        /// On the monotonic clock, nanoseconds.
        var nextCheck: UInt64 = 0
        var isResolving = false
    }
    /// Nanoseconds after which the file is looked at again.
    private static let period: UInt64 = 1_000_000_000
    private static let mostBytes = 4 << 20

    private let path: String
    private let uid: @Sendable (String) throws(Errno) -> UInt32?
    private let state = Lock(State())
    /// No lower id is in a range, as far as is known.
    private let least = Atomic<UInt32>(0)

    /// - Parameters:
    ///   - path: of the file.
    ///   - uid: the uid of an account; it runs on a thread of its own, because databases may take any time.
    public init(
        _ path: String,
        uid: @escaping @Sendable (String) throws(Errno) -> UInt32? = { (name) throws(Errno) in try AccountDatabase.user(named: name)?.uid }
    ) { (self.path, self.uid) = (path, uid) }

    /// Whether an id is surely in no range. It costs one comparison.
    public func excludes(_ id: UInt32) -> Bool { id < least.load(ordering: .relaxed) }

    /// Who has an id for user namespaces; nil: no user.
    public func owner(of id: UInt32) -> SubordinateRanges.Owner? {
        if excludes(id) { return nil }
        let now = SystemTime.monotonic()
        return state.withLock { state in
            if now >= state.nextCheck { check(&state, now) }
            return state.ranges.owner(of: id)
        }
    }

    /// Whether an ordinary user has an id for user namespaces.
    func areUsers(_ id: UInt32) -> Bool {
        switch owner(of: id) {
        case nil, .root: false
        case .user, .unknown: true
        }
    }

    private func check(_ state: inout State, _ now: UInt64) {
        state.nextCheck = now + Self.period
        let status = try? Syscall.statxAt(Syscall.workingDirectory, path, flags: 0)
        func mark(_ status: FileStatus?) -> [UInt64] {
            status.map { [$0.device, $0.inode, $0.size, UInt64(bitPattern: $0.ctime.sec), UInt64($0.ctime.nsec)] } ?? []
        }
        guard !state.hasRead || mark(status) != mark(state.status) else { return }
        (state.hasRead, state.status) = (true, status)
        let text = (try? Syscall.readAll(path: path, limit: Self.mostBytes)) ?? []
        let lines = SubordinateRanges.lines(of: text)
        use(SubordinateRanges(lines), &state)
        guard !state.isResolving, lines.contains(where: { $0.uid == nil }) else { return }
        state.isResolving = (try? Thread.start(name: "aclfs-subids") { [self] in resolve(lines) }) != nil
    }

    private func use(_ ranges: SubordinateRanges, _ state: inout State) {
        state.ranges = ranges
        // The range of a user who is added later begins above these, as those of useradd(8) do.
        least.store(min(ranges.least ?? .max, SubordinateRanges.leastOfOthers), ordering: .relaxed)
    }

    /// Finds the users of the names. Until then each range is charged by itself, and a deny of any user applies.
    private func resolve(_ lines: [SubordinateRanges.Line]) {
        var lines = lines
        while true {
            var uids: [String: UInt32] = [:]
            var hasFailed = false
            for name in Set(lines.filter { $0.uid == nil }.map(\.name)) {
                do throws(Errno) { uids[name] = try uid(name) } catch { hasFailed = true }
            }
            for index in lines.indices where lines[index].uid == nil { lines[index].uid = uids[lines[index].name] }
            let isDone = state.withLock { state in
                // If the file has changed meanwhile, it is read anew at the next look-up.
                let now = (try? Syscall.statxAt(Syscall.workingDirectory, path, flags: 0))?.ctime
                if now == state.status?.ctime { use(SubordinateRanges(lines), &state) } else { state.hasRead = false }
                if !hasFailed || !state.hasRead { state.isResolving = false }
                return !state.isResolving
            }
            if isDone { return }
            SystemTime.sleep(milliseconds: 10_000)
        }
    }
}

/// What one of these files says.
public struct SubordinateRanges: Sendable {
    /// Who has a range.
    public enum Owner: Hashable, Sendable {
        case user(UInt32)
        /// Root, for containers. The number is the first of the range.
        case root(UInt32)
        /// A user who is not found, or one of several. The number stands for them in charges: the first id of their first range.
        case unknown(UInt32)

        /// The uid that is charged.
        public var payer: UInt32 {
            switch self {
            case .user(let id), .root(let id), .unknown(let id): id
            }
        }
    }
    struct Line: Hashable, Sendable {
        var name: String
        var uid: UInt32?
        var first: UInt32
        var last: UInt32
    }

    /// From here on ids may be given to users by other means than the file, such as systemd-nsresourced.
    public static let leastOfOthers: UInt32 = 65536

    /// In order and without overlap.
    private var ranges: [(first: UInt32, last: UInt32, owner: Owner)] = []

    init(_ lines: [Line]) {
        var first: [String: UInt32] = [:]
        for line in lines { first[line.name] = min(line.first, first[line.name] ?? .max) }
        for line in lines.sorted(by: { ($0.first, $0.last) < ($1.first, $1.last) }) {
            let owner: Owner =
                switch line.uid {
                case 0: .root(line.first)
                case let uid?: .user(uid)
                case nil: .unknown(first[line.name] ?? line.first)
                }
            if let before = ranges.last, line.first <= before.last {
                // Two users may act as the same ids.
                ranges[ranges.count - 1].last = max(before.last, line.last)
                if before.owner != owner { ranges[ranges.count - 1].owner = .unknown(before.first) }
            } else {
                ranges.append((line.first, line.last, owner))
            }
        }
    }

    var least: UInt32? { ranges.first?.first }

    func owner(of id: UInt32) -> Owner? {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].last < id { low = middle + 1 } else { high = middle }
        }
        guard low < ranges.count, ranges[low].first <= id else { return nil }
        return ranges[low].owner
    }

    /// The lines `NAME:FIRST:COUNT`, as subuid(5) has them. What is none is left out, and so are root's own id and the id -1.
    static func lines(of text: [UInt8]) -> [Line] {
        text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let words = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
                String(decoding: $0, as: UTF8.self)
            }
            guard words.count == 3, !words[0].isEmpty, let first = UInt32(words[1]), let count = UInt32(words[2]), count > 0 else {
                return nil
            }
            let last = min(UInt64(first) + UInt64(count) - 1, UInt64(UInt32.max) - 1)
            let start = max(first, 1)
            guard UInt64(start) <= last else { return nil }
            return Line(name: words[0], uid: words[0] == "root" ? 0 : UInt32(words[0]), first: start, last: UInt32(last))
        }
    }
}
