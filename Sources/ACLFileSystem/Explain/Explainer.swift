import ACLFormats
import Authorization
import BackingStore
import Identity
import LinuxSystem

/// What is asked about: names from the mount's top, none for the top itself.
public struct ExplainRequest: Sendable {
    public var asked: AskedOperation
    public var path: [[UInt8]]
    public var secondPath: [[UInt8]]?
    /// Names in a path that is asked about.
    static let maximumNames = 256

    public init(_ asked: AskedOperation, path: [[UInt8]], secondPath: [[UInt8]]? = nil) {
        (self.asked, self.path, self.secondPath) = (asked, path, secondPath)
    }
}

/// Answers what would be decided, by the functions that decide. Neither the kernel nor the node table learns of it.
public struct Explainer: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let share: Share
    let accounts: AccountService

    /// Decides as the operation would, by the same function and with an observer that keeps notes. Neither
    /// the kernel nor the node table learns of it.
    public func explain(
        _ request: ExplainRequest, credential: some Credential
    ) throws(ControlFailure) -> Explanation {
        let run = try judged(request, credential: credential)
        return run.explanation(names: accounts.identityNames())
    }

    private func judged<C: Credential>(
        _ request: ExplainRequest, credential: C
    ) throws(ControlFailure) -> ExplainRun<C> {
        var run = ExplainRun(explainer: self, credential: credential)
        do throws(Errno) {
            try share.lock.withReadLock { () throws(Errno) in try run.judge(request) }
        } catch { throw ControlFailure(error, run.failure) }
        return run
    }

    /// Where a sandbox closes the way, it does so to whoever comes through this mount, and does not tell whether there is
    /// anything behind (docs/sandbox-zones.md Z5): so one caller's answer is everybody's.
    /// - Returns: nil if the way is open, or something else closes it.
    func closedBySandbox(_ request: ExplainRequest, credential: some Credential) -> Explanation? {
        guard loader.view != nil, let run = try? judged(request, credential: credential), run.isClosedBySandbox else { return nil }
        var explanation = run.explanation(names: accounts.identityNames())
        explanation.steps = explanation.steps.suffix(1)
        explanation.considered = []
        explanation.notes = ["the sandbox refuses this to whoever comes through this mount"]
        return explanation
    }

    /// Whether somebody may search all directories that lead to a name.
    func mayReach(_ path: [[UInt8]], credential: some Credential) -> Bool {
        if path.isEmpty { return true }
        var run = ExplainRun(explainer: self, credential: credential)
        return share.lock.withReadLock { run.walk(path) }
    }

    /// Every right of a caller, each asked by itself, after the search on the way.
    public func effective(
        _ path: [[UInt8]], credential: some Credential
    ) throws(ControlFailure) -> [Explanation] {
        var answers: [Explanation] = []
        for name in RightName.all {
            let request = ExplainRequest(.right(name.right), path: path)
            let run = try judged(request, credential: credential)
            answers.append(run.explanation(names: accounts.identityNames()))
            // The same for every right.
            if run.isPathClosed { break }
        }
        return answers
    }

    /// Whether somebody may learn what others may do here: search on the way, then readattr and readsecurity.
    public func mayInspect(_ request: ExplainRequest, credential: some Credential) -> Bool {
        for path in [request.path, request.secondPath].compactMap({ $0 }) {
            var paths = [path]
            if request.asked.asksDirectory || request.asked.call?.takesSecondPath == true {
                paths.append(Array(path.dropLast()))
            }
            for checked in paths {
                do {
                    if try !explain(ExplainRequest(.call(.stat), path: checked), credential: credential).isAllowed {
                        return false
                    }
                } catch {
                    // What is to be made, or replaced by a rename, need not be there; its directory is asked.
                    let mayMiss = request.asked.call?.creates == true || request.asked.call?.takesSecondPath == true
                    if error.errno != .noent || !mayMiss || checked.count < path.count { return false }
                }
            }
        }
        return true
    }
}
