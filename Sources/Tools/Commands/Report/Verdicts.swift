import ACLFormats
import Authorization
import Identity

/// What each subject may do: most get one of two usual answers.
struct Verdict: Hashable {
    struct Exception: Hashable {
        /// The number of the subject.
        var subject: Int
        var mask: RightMask
    }
    /// Of callers whom nothing names.
    var others: RightMask
    /// Of callers whom nothing names, and whose groups are unknown.
    var withoutAccount: RightMask
    /// Subjects with another answer, by their number.
    var exceptions: [Exception] = []

    func mask(of subject: Int, _ subjects: ReportSubjects) -> RightMask {
        exceptions.first { $0.subject == subject }?.mask ?? usual(subject, subjects)
    }

    func usual(_ subject: Int, _ subjects: ReportSubjects) -> RightMask {
        subjects.all[subject].hasUnknownGroups ? withoutAccount : others
    }

    /// Without rights that do not count for a comparison.
    func without(_ mask: RightMask, _ subjects: ReportSubjects) -> Verdict {
        var verdict = Verdict(others: others.subtracting(mask), withoutAccount: withoutAccount.subtracting(mask))
        for exception in exceptions {
            let rest = exception.mask.subtracting(mask)
            if rest != verdict.usual(exception.subject, subjects) {
                verdict.exceptions.append(Exception(subject: exception.subject, mask: rest))
            }
        }
        return verdict
    }
}

/// Who may search every directory on the way to an object.
struct Reach: Hashable {
    var others = true
    var withoutAccount = true
    /// Subjects with another answer than the usual one, by their number.
    var exceptions: [Int] = []

    func holds(for subject: Int, _ subjects: ReportSubjects) -> Bool {
        let usual = subjects.all[subject].hasUnknownGroups ? withoutAccount : others
        return exceptions.contains(subject) ? !usual : usual
    }
}

/// Asks the authorizer. Each question is one of a caller without a sandbox, as `aclfs effective --as` asks them.
struct VerdictMaker {
    let classes: [ObjectClass]
    let subjects: ReportSubjects
    let volume: VolumeState

    /// What each subject may do with an object.
    /// - Parameters:
    ///   - number: the class of the object.
    ///   - parent: the class of its directory, which decides about deletion too; nil at the top of a mount.
    ///   - reach: who may come as far as its directory.
    func verdict(of number: Int, in parent: Int?, _ reach: Reach) -> Verdict {
        let object = classes[number].facts
        let directory = parent.map { classes[$0].facts }
        func mask(_ caller: DirectoryCredential) -> RightMask {
            var mask: RightMask = []
            for (index, name) in RightName.all.enumerated() {
                let facts = FactsByRole(object: object, parent: name.right == .delete ? directory : nil)
                var inquiry = Inquiry(caller, on: volume, sandbox: Unconfined(), observer: NoObserver())
                if inquiry.authorize(.rights(name.right), facts).isAllowed { mask.insert(RightMask(rawValue: 1 << index)) }
            }
            return mask
        }
        var named = subjects.namedBy(classes[number]).union(reach.exceptions)
        if let parent { named.formUnion(subjects.namedBy(classes[parent])) }
        var verdict = Verdict(
            others: reach.others ? mask(subjects.everyoneElse) : [],
            withoutAccount: reach.withoutAccount && !subjects.unknown.isEmpty ? mask(subjects.withoutAccount) : [])
        for subject in named.sorted() {
            let own = reach.holds(for: subject, subjects) ? mask(subjects.all[subject].credential) : []
            if own != verdict.usual(subject, subjects) { verdict.exceptions.append(.init(subject: subject, mask: own)) }
        }
        return verdict
    }

    /// Who may come into a directory.
    /// - Parameter reach: who may come as far as the directory above it.
    func reach(into number: Int, from reach: Reach) -> Reach {
        let facts = FactsByRole(object: classes[number].facts)
        func maySearch(_ caller: DirectoryCredential) -> Bool {
            var inquiry = Inquiry(caller, on: volume, sandbox: Unconfined(), observer: NoObserver())
            return inquiry.authorize(.lookup, facts).isAllowed
        }
        var inside = Reach(
            others: reach.others && maySearch(subjects.everyoneElse),
            withoutAccount: reach.withoutAccount && maySearch(subjects.withoutAccount))
        for subject in subjects.namedBy(classes[number]).union(reach.exceptions).sorted() {
            let own = reach.holds(for: subject, subjects) && maySearch(subjects.all[subject].credential)
            if own != (subjects.all[subject].hasUnknownGroups ? inside.withoutAccount : inside.others) {
                inside.exceptions.append(subject)
            }
        }
        return inside
    }
}
