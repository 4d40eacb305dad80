import ACLFormats
import LinuxSystem

/// Plays cases in a directory, as several users.
public struct ConformanceRun {
    private let parent: Int32
    private let numbers: Numbers
    private let interruption: Interruption

    /// - Parameters:
    ///   - parent: a descriptor of the directory, as root opened it.
    ///   - numbers: ids that no account has.
    public init(in parent: Int32, _ numbers: Numbers, _ interruption: Interruption) {
        (self.parent, self.numbers, self.interruption) = (parent, numbers, interruption)
    }

    /// Plays the cases in their order. Nothing that it made is left when it returns or throws, unless the message says so.
    /// - Parameters:
    ///   - cases: of `CaseList`.
    ///   - begin: called once, when the run can begin.
    ///   - report: called with each result.
    /// - Throws: the run could not begin, or ended early.
    public func play(_ cases: [ConformanceCase], begin: () -> Void, report: (CaseResult) -> Void) throws(RunFailure) {
        let directory = try RunDirectory(in: parent)
        do throws(RunFailure) {
            try playAll(cases, directory, begin, report)
            try directory.checkUntouched()
        } catch {
            let ended = error
            do throws(RunFailure) { try directory.remove() } catch {
                throw RunFailure("\(ended.message); \(error.message)", signal: ended.signal)
            }
            throw ended
        }
        try directory.remove()
    }

    private func playAll(
        _ cases: [ConformanceCase], _ directory: RunDirectory, _ begin: () -> Void, _ report: (CaseResult) -> Void
    ) throws(RunFailure) {
        // They end before the directory is removed.
        var subjects: [Subject: SubjectProcess] = [:]
        func subject(_ wanted: Subject) throws(RunFailure) -> SubjectProcess {
            if let running = subjects[wanted] { return running }
            let started = try SubjectProcess(wanted, in: directory.descriptor, interruption)
            subjects[wanted] = started
            return started
        }
        let ordinary = try subject(Subject(uid: numbers.alice, gid: numbers.staff))
        let answer = try ordinary.call(["stat", "."].map { Array($0.utf8) })
        guard answer.word == "ok" else {
            throw RunFailure("uid \(numbers.alice) does not reach it (\(answer.word)); a run needs a mount for all users (allow_other)")
        }
        begin()
        for (index, item) in cases.enumerated() {
            try interruption.check()
            var outcome = CaseResult.Outcome.ok
            if let reason = item.skipped {
                outcome = .skipped(reason)
            } else {
                let place = "\(index + 1)"
                try directory.makeDirectory(place)
                var differences: [String] = []
                for step in item.setup where differences.isEmpty {
                    let answer = try subject(step.subject).call(step.words(in: place))
                    if let difference = step.expected.difference(from: answer) { differences = ["building: \(step.shown): \(difference)"] }
                }
                if differences.isEmpty {
                    for step in item.steps {
                        let answer = try subject(step.subject).call(step.words(in: place))
                        if let difference = step.expected.difference(from: answer) {
                            differences.append("uid \(step.subject.uid): \(step.shown): \(difference)")
                        }
                    }
                }
                if !differences.isEmpty { outcome = .notOK(differences) }
            }
            report(CaseResult(number: index + 1, played: item, outcome: outcome))
        }
    }
}
