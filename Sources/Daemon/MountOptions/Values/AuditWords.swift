/// What `-o` says about the log of decisions (docs/reference/audit.md).
public struct AuditWords: Sendable, Hashable {
    public enum Mode: String, Sendable, CaseIterable { case off, denied, all }

    public var mode = Mode.off
    /// An absolute path.
    public var log: String?
    /// Lines in a second.
    public var limit: UInt32 = 1000
    /// Lines about one user in a second.
    public var userLimit: UInt32 = 10
}

extension ValueForm<UInt32> {
    static var linesInASecond: ValueForm { .number(1...1_000_000, called: "a number of lines in a second") }
}
