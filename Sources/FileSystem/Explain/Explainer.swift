import ACLFormats
import Authorization
import BackingStore
import Identity
import LinuxSystem

/// A question about one operation. Paths are names from the mount's root; no name means the root itself.
public struct ExplainQuestion: Sendable {
    public var asked: AskedOperation
    public var path: [[UInt8]]
    public var secondPath: [[UInt8]]?

    public init(_ asked: AskedOperation, path: [[UInt8]], secondPath: [[UInt8]]? = nil) {
        (self.asked, self.path, self.secondPath) = (asked, path, secondPath)
    }
}

/// Answers what would be decided, through the functions that decide. It changes neither the node table nor the kernel's caches.
public struct Explainer: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let share: Share
    let accounts: AccountService

    /// Decides as the operation would, with an observer that records the reasons.
    /// - Parameters:
    ///   - question: the operation and its paths.
    ///   - credential: of the subject.
    /// - Returns: each step of the decision.
    /// - Throws: if a path cannot be resolved.
    public func explain(_ question: ExplainQuestion, credential: some Credential) throws(ControlFailure) -> Explanation {
        let run = try judged(question, credential: credential)
        return run.explanation(names: accounts.identityNames(judge.identities))
    }

    private func judged<C: Credential>(_ question: ExplainQuestion, credential: C) throws(ControlFailure) -> ExplainRun<C> {
        var run = ExplainRun(explainer: self, credential: credential)
        do throws(Errno) {
            try share.lock.withReadLock { () throws(Errno) in try run.judge(question) }
        } catch { throw ControlFailure(error, run.failure) }
        return run
    }

    /// The answer if the sandbox denies the search on the path. The sandbox denies it to every caller of this mount, and the answer reveals
    /// nothing about the object (docs/reference/sandbox-zones.md Z5), so any client may read it.
    /// - Returns: nil if the search is allowed, or denied by another rule.
    func closedBySandbox(_ question: ExplainQuestion, credential: some Credential) -> Explanation? {
        guard loader.view != nil, let run = try? judged(question, credential: credential), run.isClosedBySandbox else { return nil }
        var explanation = run.explanation(names: accounts.identityNames(judge.identities))
        explanation.steps = explanation.steps.suffix(1)
        explanation.considered = []
        explanation.notes = ["the sandbox denies this to every caller of this mount"]
        return explanation
    }

    /// Whether the subject may search all directories that lead to a name.
    func mayReach(_ path: [[UInt8]], credential: some Credential) -> Bool {
        if path.isEmpty { return true }
        var run = ExplainRun(explainer: self, credential: credential)
        return share.lock.withReadLock { run.walk(path) }
    }

    /// Decides every right on an object by itself, after the search on the path.
    /// - Parameters:
    ///   - path: names from the mount's root.
    ///   - credential: of the subject.
    /// - Returns: one explanation for each right; a single one if the search is denied.
    /// - Throws: if the path cannot be resolved.
    public func effective(_ path: [[UInt8]], credential: some Credential) throws(ControlFailure) -> [Explanation] {
        var answers: [Explanation] = []
        for name in RightName.all {
            let question = ExplainQuestion(.right(name.right), path: path)
            let run = try judged(question, credential: credential)
            answers.append(run.explanation(names: accounts.identityNames(judge.identities)))
            // Every right would get the same answer.
            if run.isPathClosed { break }
        }
        return answers
    }

    /// Whether the subject may learn what other subjects may do here: it needs search on the path, readattr and readsecurity.
    /// - Parameters:
    ///   - question: the question about another subject.
    ///   - credential: of the client that asks.
    public func mayInspect(_ question: ExplainQuestion, credential: some Credential) -> Bool {
        for path in [question.path, question.secondPath].compactMap({ $0 }) {
            var paths = [path]
            if question.asked.asksDirectory || question.asked.call?.takesSecondPath == true {
                paths.append(Array(path.dropLast()))
            }
            for checked in paths {
                do {
                    if try !explain(ExplainQuestion(.call(.stat), path: checked), credential: credential).isAllowed {
                        return false
                    }
                } catch {
                    // A name that is created or replaced need not exist: its directory is checked.
                    let mayMiss = question.asked.call?.creates == true || question.asked.call?.takesSecondPath == true
                    if error.errno != .noent || !mayMiss || checked.count < path.count { return false }
                }
            }
        }
        return true
    }
}
