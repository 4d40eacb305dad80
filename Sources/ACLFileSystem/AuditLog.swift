import ACLFormats
import Authorization
import LinuxSystem
import SandboxPolicy

/// One line of JSON for each decision (docs/audit.md), written by a thread of its own: no request waits for a disk.
///
/// Who is refused a thousand times a second must not fill it: there is room for so many lines in a second, and for ten of one
/// user's. What is allowed takes half of that at most, so that it crowds no denial out. What was left out is counted in a line of its own.
public final class AuditLog: Sendable {
    /// In each second.
    static let mostOfOneUser: UInt32 = 10
    /// Waiting to be written while the disk stands still.
    static let mostWaiting = 10_000

    struct Line {
        var kept: DenialLog.Kept
        var tid: UInt32
        /// The mount that was asked, to find the path.
        var fileSystem: FileSystem
    }
    /// Lines in a second.
    private struct Count {
        var all: UInt32 = 0
        var allowed: UInt32 = 0

        func hasRoom(of most: UInt32, allowed isAllowed: Bool) -> Bool { all < most && (!isAllowed || allowed < max(1, most / 2)) }

        mutating func add(allowed isAllowed: Bool) {
            all += 1
            if isAllowed { allowed += 1 }
        }
    }
    private struct LeftOut {
        var all: Int64 = 0
        var denied: Int64 = 0
    }
    private struct State {
        var lines: [Line] = []
        var second: Int64 = 0
        var count = Count()
        var ofUsers: [UInt32: Count] = [:]
        var leftOut = LeftOut()
        var mustReopen = false
        var isEnding = false
        var hasEnded = false
    }

    let takesAllowed: Bool
    private let words: AuditWords
    private let path: String
    private let mountpoint: String
    private let report: @Sendable (String) -> Void
    private let state = Monitor(State())

    /// - Parameter report: is given one line for the daemon's own log.
    /// - Throws: if the file cannot be opened, or is none to write such things to (`exist`: somebody else's, one that others may
    ///   write, or no plain file).
    public init(
        _ words: AuditWords, mountpoint: String, report: @escaping @Sendable (String) -> Void
    ) throws(Errno) {
        (self.words, path, self.mountpoint, self.report) = (words, words.log ?? "", mountpoint, report)
        takesAllowed = words.mode == .all
        let file = try Self.open(path)
        _ = try Thread.start(name: "aclfs-audit") { [self] in run(file) }
    }

    func add(_ line: Line) {
        state.withLock { state in
            Self.turn(&state, to: line.kept.time)
            let isAllowed = line.kept.decision.isAllowed
            var ofUser = state.ofUsers[line.kept.uid] ?? Count()
            guard state.count.hasRoom(of: words.limit, allowed: isAllowed),
                ofUser.hasRoom(of: Self.mostOfOneUser, allowed: isAllowed), state.lines.count < Self.mostWaiting, !state.isEnding
            else {
                state.leftOut.all += 1
                if !isAllowed { state.leftOut.denied += 1 }
                return
            }
            ofUser.add(allowed: isAllowed)
            state.count.add(allowed: isAllowed)
            state.ofUsers[line.kept.uid] = ofUser
            state.lines.append(line)
        }
    }

    private static func turn(_ state: inout State, to second: Int64) {
        guard state.second != second else { return }
        (state.second, state.count) = (second, Count())
        state.ofUsers.removeAll(keepingCapacity: true)
    }

    /// Somebody has moved the file away, and wants the next line in a new one.
    public func reopen() { state.withLock { $0.mustReopen = true } }

    /// Writes what is there. Nothing comes after it.
    public func end() {
        state.withLock { $0.isEnding = true }
        _ = state.wait(until: SystemTime.monotonic() + 2_000_000_000) { $0.hasEnded ? true : nil }
    }

    // MARK: The file

    private static func open(_ path: String) throws(Errno) -> SharedDescriptor {
        try FileSystemUser.asRoot { () throws(Errno) in
            // A pipe that nobody reads would hold us up, a link lead anywhere.
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
        case lines([Line], leftOut: LeftOut)
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
                    report("audit_log=\(path): \(Self.reason(error)); what is written goes on into the file that was open before")
                }
            case .lines(let lines, let leftOut):
                var failure: Errno?
                for line in lines { failure = write(text(line), to: file) ?? failure }
                if leftOut.all > 0 { failure = write(text(leftOut: leftOut), to: file) ?? failure }
                if let failure, !hasFailed { report("audit_log=\(path): \(failure.text); decisions are missing there") }
                hasFailed = failure != nil
            case .end:
                state.withLock { $0.hasEnded = true }
                return
            }
        }
    }

    private func next() -> Work? {
        state.wait(until: SystemTime.monotonic() + 1_000_000_000) { state in
            if state.mustReopen {
                state.mustReopen = false
                return .reopening
            }
            let isOver = state.leftOut.all > 0 && (state.isEnding || state.second != SystemTime.now().sec)
            guard !state.lines.isEmpty || isOver else { return state.isEnding ? .end : nil }
            defer {
                state.lines = []
                if isOver { state.leftOut = LeftOut() }
            }
            return .lines(state.lines, leftOut: isOver ? state.leftOut : LeftOut())
        }
    }

    private func write(_ text: [UInt8], to file: SharedDescriptor) -> Errno? {
        do throws(Errno) {
            // In one piece, so that lines of several mounts do not mix.
            let written = text.withUnsafeBytes { bytes -> Result<Int, Errno> in
                outcome { () throws(Errno) in try Syscall.write(file.rawValue, bytes) }
            }
            return try written.get() == text.count ? nil : .nospc
        } catch { return error }
    }

    /// Why a file was not opened.
    public static func reason(_ error: Errno) -> String {
        switch error {
        case .exist, .nxio: "it is no plain file of the daemon's user that nobody else may write"
        case .loop: "it is a symbolic link"
        default: error.text
        }
    }

    // MARK: A line

    private func text(_ line: Line) -> [UInt8] {
        let (kept, fileSystem) = (line.kept, line.fileSystem)
        let denial = Denial(
            sequence: 0, time: kept.time, uid: kept.uid, operation: kept.operation.name, inode: kept.inode,
            errno: kept.decision.denial?.errno.name ?? "", stage: kept.decision.stage.name, rule: kept.rule, subject: kept.subject)
        var members: [JSON.Member] = [
            .init("time", .integer(kept.time)), .init("uid", .integer(Int64(kept.uid))), .init("tid", .integer(Int64(line.tid))),
            .init("operation", .string(denial.operation)),
            .init("decision", .string(kept.decision.isAllowed ? "allowed" : "denied")),
        ]
        if !denial.errno.isEmpty { members.append(.init("errno", .string(denial.errno))) }
        members.append(.init("stage", .string(denial.stage)))
        if let rule = kept.rule { members.append(.init("rule", .string(rule))) }
        if let profile = fileSystem.profile { members.append(.init("profile", .string(profile.name))) }
        if let inode = kept.inode { members.append(.init("inode", .string(String(inode)))) }
        switch fileSystem.place(of: denial, seenBy: nil) {
        case .path(let names): members.append(JSON.path(Array(mountpoint.utf8) + names.flatMap { [0x2F] + $0 }))
        case .gone: members.append(.init("gone", .bool(true)))
        case .unknown: break
        }
        members.append(JSON.path(Array(mountpoint.utf8), name: "mount"))
        return JSONText.write(.object(members)) + [0x0A]
    }

    private func text(leftOut: LeftOut) -> [UInt8] {
        JSONText.write(
            .object([
                .init("time", .integer(SystemTime.now().sec)), .init("left_out", .integer(leftOut.all)),
                .init("left_out_denied", .integer(leftOut.denied)),
                JSON.path(Array(mountpoint.utf8), name: "mount"),
            ])) + [0x0A]
    }
}
