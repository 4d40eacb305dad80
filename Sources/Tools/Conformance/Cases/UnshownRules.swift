/// Rules that calls on a mount cannot show. A run has a line for each, with the reason.
enum UnshownRules {
    static let all: [ConformanceCase] = [
        rule(10, "unknown membership helps no caller", "needs a directory service that does not answer"),
        rule(39, "an operation without a row is refused", "every request that the kernel sends has a row"),
        rule(42, "more than 128 entries: no object", "no call of Linux gives a list at creation"),
        rule(50, "decision and explanation come from one function", "concerns the program, not its answers"),
        rule(51, "a record that cannot be read denies with EIO", "needs the backing directory, which a mount does not show"),
        rule(54, "a directory service that fails makes membership unknown", "needs a directory service that fails"),
        rule(62, "without space close fails", "needs a full file system"),
        rule(66, "a POSIX ACL of the backing object decides", "needs the backing directory, which a mount does not show"),
        rule(
            68, "where ownership is ignored no set-id bit is stored", "needs a mount with noowners, on which most other rules do not hold"),
        rule(70, "the sandbox refuses before everything else", "needs a mount with sandbox="),
        rule(71, "the effective location decides what is permitted", "needs a mount with sandbox="),
        rule(78, "an import of POSIX ACLs changes no decision", "needs the backing directory, which a mount does not show"),
        rule(79, "a list of a client of Samba means the same here", "needs the values of smbd"),
        rule(80, "who leaves a group in a user namespace is denied what it is denied", "needs users with subordinate ids"),
    ]

    private static func rule(_ number: Int, _ title: String, _ reason: String) -> ConformanceCase {
        var made = ConformanceCase(rules: [number], title: title)
        made.skipped = reason
        return made
    }
}
