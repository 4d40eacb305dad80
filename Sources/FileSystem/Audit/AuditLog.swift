import ACLFormats
import Authorization
import BackingStore
import Identity
import LinuxSystem
import MountOptions
import SandboxPolicy

/// Writes one line of JSON for each decision (docs/reference/audit.md), on a thread of its own, so that no request waits for a disk.
/// `FairLines` chooses which decisions get a line. Further lines count the decisions that got none.
public final class AuditLog: Sendable {
    struct Line {
        var kept: DenialLog.Kept
        var tid: UInt32
        /// Finds the path of the object when the line is written.
        var tree: BackingTree
        /// The name of the profile that confines the mount; nil if none does.
        var profile: String?
    }
    private struct State {
        var lines: FairLines<Line>
        var mustReopen = false
        var isEnding = false
        var hasEnded = false
    }

    let logsAllowed: Bool
    private let words: AuditWords
    private let path: String
    private let mountpoint: String
    private let report: @Sendable (String) -> Void
    private let state: Monitor<State>
    private let names: AuditNames

    /// Opens the log and starts its thread.
    /// - Parameters:
    ///   - words: the audit options of the mount.
    ///   - mountpoint: the path that the lines name.
    ///   - report: writes one line to the daemon's own log.
    /// - Throws: the errno of open(2); `exist` if the file has another owner, is writable by others, or is no regular file.
    public init(_ words: AuditWords, mountpoint: String, report: @escaping @Sendable (String) -> Void) throws(Errno) {
        state = Monitor(State(lines: FairLines(.init(all: words.limit, ofUser: words.userLimit))))
        names = AuditNames()
        (self.words, path, self.mountpoint, self.report) = (words, words.log ?? "", mountpoint, report)
        logsAllowed = words.mode == .all
        let file = try Self.open(path)
        _ = try Thread.start(name: "aclfs-audit") { [self] in run(file) }
    }

    /// - Throws: as `init` does for the file that it opens.
    public static func check(_ path: String) throws(Errno) { _ = try open(path) }

    func add(_ line: Line) {
        let kept = line.kept
        let event = FairLines<Line>.Event(
            uid: kept.payer, object: kept.inode, operation: kept.operation.name, isAllowed: kept.decision.isAllowed)
        state.withLock { $0.lines.add(line, event, at: kept.time) }
    }

    /// Makes the thread open the path anew before the next line. Call it after log rotation has moved the file.
    public func reopen() { state.withLock { $0.mustReopen = true } }

    /// Writes the waiting lines and ends the thread, within two seconds. Lines that are added later are lost.
    public func end() {
        state.withLock { $0.isEnding = true }
        _ = state.wait(until: SystemTime.monotonic() + 2_000_000_000) { $0.hasEnded ? true : nil }
    }

    // MARK: The file

    private static func open(_ path: String) throws(Errno) -> SharedDescriptor {
        try FileSystemUser.asRoot { () throws(Errno) in
            // Without these flags, the open of a FIFO without a reader would block, and a symbolic link could lead to any file.
            let file = SharedDescriptor(
                try Syscall.open(
                    path, OpenFlag.writeOnly | OpenFlag.append | OpenFlag.create | OpenFlag.noFollow | OpenFlag.nonBlock,
                    mode: 0o600))
            let status = try Syscall.statx(file.rawValue)
            guard status.type == FileType.regular, status.uid == FileSystemUser.owner, status.mode & 0o022 == 0 else { throw .exist }
            return file
        }
    }

    private enum Work {
        case lines([Line], leftOut: [FairLines<Line>.LeftOut])
        case reopening
        case end
    }

    private func run(_ opened: SharedDescriptor) {
        var file = opened
        var hasFailed = false
        while true {
            switch next() {
            case nil: continue
            case .reopening:
                do throws(Errno) { file = try Self.open(path) } catch {
                    report("audit_log=\(path): \(Self.reason(error)); the daemon goes on writing to the file that was open before")
                }
            case .lines(let lines, let leftOut):
                var failure: Errno?
                for line in lines { failure = write(text(line), to: file) ?? failure }
                for leftOut in leftOut { failure = write(text(leftOut), to: file) ?? failure }
                if let failure, !hasFailed { report("audit_log=\(path): \(failure.text); decisions are missing in this log") }
                hasFailed = failure != nil
            case .end:
                state.withLock { $0.hasEnded = true }
                return
            }
        }
    }

    /// Waits for work.
    /// - Returns: nil at the end of a second: lines that exceeded its limit may be written in the next one.
    private func next() -> Work? {
        let rest = 1_000_000_000 - UInt64(SystemTime.now().nsec)
        return state.wait(until: SystemTime.monotonic() + rest) { state in
            if state.mustReopen {
                state.mustReopen = false
                return .reopening
            }
            let second = SystemTime.now().sec
            let lines = state.lines.take(at: second, isLast: state.isEnding)
            let leftOut = state.lines.takeLeftOut(at: second, isLast: state.isEnding)
            if lines.isEmpty, leftOut.isEmpty { return state.isEnding ? .end : nil }
            return .lines(lines, leftOut: leftOut)
        }
    }

    private func write(_ text: [UInt8], to file: SharedDescriptor) -> Errno? {
        do throws(Errno) {
            // One write(2) for each line, so that lines of several mounts do not mix.
            let written = text.withUnsafeBytes { bytes -> Result<Int, Errno> in
                outcome { () throws(Errno) in try Syscall.write(file.rawValue, bytes) }
            }
            return try written.get() == text.count ? nil : .nospc
        } catch { return error }
    }

    /// Why the log was not opened.
    /// - Parameter error: that `init` threw.
    /// - Returns: a text for the administrator.
    public static func reason(_ error: Errno) -> String {
        switch error {
        case .exist, .nxio: "it must be a regular file of the daemon's user that no other user may write"
        case .loop: "it is a symbolic link"
        default: error.text
        }
    }

    // MARK: A line

    private func text(_ line: Line) -> [UInt8] {
        let kept = line.kept
        let denial = Denial(
            sequence: 0, time: kept.time, uid: kept.uid, operation: kept.operation.name, inode: kept.inode,
            errno: kept.decision.denial?.errno.name ?? "", stage: kept.decision.stage.name, rule: kept.rule, denied: kept.denied)
        var members = time(kept.time, kept.nanoseconds) + user(kept.uid)
        members += [
            .init("tid", .integer(Int64(line.tid))), .init("operation", .string(denial.operation)),
            .init("decision", .string(kept.decision.isAllowed ? "allowed" : "denied")),
        ]
        if !denial.errno.isEmpty { members.append(.init("errno", .string(denial.errno))) }
        members.append(.init("stage", .string(denial.stage)))
        if let rule = kept.rule { members.append(.init("rule", .string(rule))) }
        if let profile = line.profile { members.append(.init("profile", .string(profile))) }
        if let inode = kept.inode { members.append(.init("inode", .string(String(inode)))) }
        switch line.tree.location(of: denial) {
        case .path(let names): members.append(JSON.path(Array(mountpoint.utf8) + names.flatMap { [0x2F] + $0 }))
        case .gone: members.append(.init("gone", .bool(true)))
        case .unknown: break
        }
        members.append(JSON.path(Array(mountpoint.utf8), name: "mount"))
        return JSONText.write(.object(members)) + [0x0A]
    }

    private func text(_ leftOut: FairLines<Line>.LeftOut) -> [UInt8] {
        let now = SystemTime.now()
        var members = time(now.sec, now.nsec)
        if let uid = leftOut.uid { members += user(uid) }
        let operations = leftOut.operations.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        members += [
            .init("left_out", .integer(leftOut.all)), .init("left_out_denied", .integer(leftOut.denied)),
            .init("operations", .object(operations.map { .init($0.key, .integer($0.value)) })),
            JSON.path(Array(mountpoint.utf8), name: "mount"),
        ]
        return JSONText.write(.object(members)) + [0x0A]
    }

    private func time(_ seconds: Int64, _ nanoseconds: UInt32) -> [JSON.Member] {
        [.init("time", .integer(seconds)), .init("nanoseconds", .integer(Int64(nanoseconds)))]
    }

    private func user(_ uid: UInt32) -> [JSON.Member] {
        [.init("uid", .integer(Int64(uid)))] + (names.name(of: uid).map { [.init("user", .string($0))] } ?? [])
    }
}

/// Names of users for the lines of the log. Only the thread of the log asks, so that no request waits for an account database. An
/// unknown name counts for ten seconds only, but long enough that a silent database rarely delays the thread.
final class AuditNames: Sendable {
    private struct Known {
        var name: String?
        var expiry: UInt64
    }
    private static let most = 1024
    private let accounts: AccountService
    private let known = Lock<[UInt32: Known]>([:])

    init(_ accounts: AccountService = AccountService()) { self.accounts = accounts }

    /// nil if the uid has no account, or the databases do not answer in time.
    func name(of uid: UInt32) -> String? {
        let now = SystemTime.monotonic()
        if let known = known.withLock({ $0[uid] }), known.expiry > now { return known.name }
        var name: String?
        if case .user(let user) = accounts.answer(to: .user(uid), by: accounts.deadline()) { name = user.name }
        let lifetime: UInt64 = name == nil ? 10 : 60
        known.withLock { known in
            if known.count >= Self.most { known.removeAll() }
            known[uid] = Known(name: name, expiry: SystemTime.monotonic() + lifetime * 1_000_000_000)
        }
        return name
    }
}
