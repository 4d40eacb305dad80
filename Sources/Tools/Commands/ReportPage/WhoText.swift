import Authorization
import Identity

/// The subjects of a verdict in few words.
struct WhoText {
    let subjects: ReportSubjects

    /// The name of a subject.
    static func name(_ subject: ReportSubject) -> String {
        switch subject.kind {
        case .user(let uid): subject.name ?? "uid \(uid)"
        case .group(let gid): subject.name.map { "group \($0)" } ?? "gid \(gid)"
        }
    }

    /// Who may do what a column stands for, as `everyone`, `staff, alice; partly: bob`.
    func text(_ verdict: Verdict, _ rights: RightMask) -> String {
        if rights.isEmpty { return "does not apply" }
        let all = list(verdict) { $0.isSuperset(of: rights) }
        let some = list(verdict) { !$0.isDisjoint(with: rights) && !$0.isSuperset(of: rights) }
        switch (all, some) {
        case (nil, nil): return "no user"
        case (let all?, nil): return all
        case (nil, let some?): return "partly: \(some)"
        case (let all?, let some?): return "\(all); partly: \(some)"
        }
    }

    /// The longest enumeration in a cell; the list of all rights has every subject.
    private static let most = 6

    private func list(_ verdict: Verdict, _ isMeant: (RightMask) -> Bool) -> String? {
        var (meant, others) = (Set<Int>(), Set<Int>())
        for exception in verdict.exceptions {
            if isMeant(exception.mask) { meant.insert(exception.subject) } else { others.insert(exception.subject) }
        }
        if isMeant(verdict.others) {
            var but = enumerated(others.sorted())
            let lacks = !subjects.unknown.isEmpty && !isMeant(verdict.withoutAccount)
            if lacks { but = [but, "users without an account"].compactMap { $0 }.joined(separator: ", ") }
            let more = lacks ? enumerated(meant.filter { subjects.all[$0].hasUnknownGroups }.sorted()).map { ", also \($0)" } ?? "" : ""
            return "everyone" + (but.map { " but \($0)" } ?? "") + more
        }
        // A member of a group that is named needs no mention, unless the group's right is not the member's.
        let groups = meant.filter { isGroup($0) }
        let users = meant.filter { user in !isGroup(user) && !groups.contains { isMember(user, of: $0) } }
        let without = subjects.unknown.isEmpty || !isMeant(verdict.withoutAccount) ? nil : "users without an account"
        let named = [enumerated(groups.sorted() + users.sorted()), without].compactMap { $0 }
        if named.isEmpty { return nil }
        var excepted: Set<Int> = []
        for case .group(let gid) in groups.map({ subjects.all[$0].kind }) {
            excepted.formUnion(subjects.members(of: gid).filter { !meant.contains($0) && !isMeant(verdict.mask(of: $0, subjects)) })
        }
        return named.joined(separator: ", ") + (enumerated(excepted.sorted()).map { ", but not \($0)" } ?? "")
    }

    private func enumerated(_ numbers: [Int]) -> String? {
        if numbers.isEmpty { return nil }
        let names = numbers.prefix(Self.most).map { Self.name(subjects.all[$0]) }
        let rest = numbers.count - names.count
        return names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    private func isGroup(_ subject: Int) -> Bool { if case .group = subjects.all[subject].kind { true } else { false } }

    private func isMember(_ user: Int, of group: Int) -> Bool {
        guard case .group(let gid) = subjects.all[group].kind else { return false }
        return subjects.all[user].credential.membership(inGroup: gid) == .member
    }
}
