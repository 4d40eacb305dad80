import ACLFormats

/// The results as JSON (docs/internals/conformance.md "As JSON").
public enum ConformanceJSON {
    /// - Parameter mountpoint: as the command line named it.
    public static func report(_ mountpoint: [UInt8], _ results: [CaseResult]) -> JSON {
        var counts = CaseCounts()
        for result in results { counts.count(result.outcome) }
        return .object([
            JSON.path(mountpoint, name: "place"), .init("ok", .integer(Int64(counts.ok))),
            .init("not_ok", .integer(Int64(counts.notOK))), .init("skipped", .integer(Int64(counts.skipped))),
            .init("cases", .array(results.map(value))),
        ])
    }

    private static func value(_ result: CaseResult) -> JSON {
        var members: [JSON.Member] = [
            .init("number", .integer(Int64(result.number))),
            .init("rules", .array(result.played.rules.map { .string("S\($0)") })),
        ]
        if let vector = result.played.vector { members.append(.init("vector", .string(vector))) }
        members += [.init("title", .string(result.played.title)), .init("source", .string(result.played.source))]
        switch result.outcome {
        case .ok: members.append(.init("result", .string("ok")))
        case .notOK(let differences):
            members += [.init("result", .string("not ok")), .init("differences", .array(differences.map { .string($0) }))]
        case .skipped(let reason): members += [.init("result", .string("skipped")), .init("reason", .string(reason))]
        }
        return .object(members)
    }
}
