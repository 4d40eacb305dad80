import Authorization

/// Changes the lists of many files of one directory. A command sets it as an attribute of the directory, and then reads what came of each
/// name from the same attribute (docs/reference/control.md "Lists of many files").
public struct ListsRequest: Sendable, Equatable {
    public static let attribute = "system.aclfs.lists"
    public static let mostNames = 64

    /// Any number: the answer has it, too.
    public var token: UInt64
    public var change: ListChange
    /// Of files in the directory.
    public var names: [[UInt8]]

    public init(token: UInt64, change: ListChange, names: [[UInt8]]) { (self.token, self.change, self.names) = (token, change, names) }

    /// The version, the change, the token with the lowest byte first, and each name with a NUL.
    public var bytes: [UInt8] {
        [Self.version, change.rawValue] + littleEndian(token) + names.flatMap { $0 + [0] }
    }

    /// - Returns: nil for anything that `bytes` does not write, and for names that lead out of the directory.
    public init?(reading bytes: some Collection<UInt8>) {
        let head = Array(bytes.prefix(Self.headLength))
        guard head.count == Self.headLength, head[0] == Self.version, let change = ListChange(rawValue: head[1]) else { return nil }
        (token, self.change) = (number(head[2...]), change)
        names = []
        var name: [UInt8] = []
        for byte in bytes.dropFirst(Self.headLength) {
            guard byte == 0 else {
                name.append(byte)
                continue
            }
            guard names.count < Self.mostNames, Self.isName(name) else { return nil }
            names.append(name)
            name = []
        }
        if !name.isEmpty { return nil }
    }

    private static let version: UInt8 = 1
    private static let headLength = 10

    private static func isName(_ name: [UInt8]) -> Bool {
        let dot = UInt8(ascii: ".")
        return !name.isEmpty && name.count <= 255 && name != [dot] && name != [dot, dot] && !name.contains(UInt8(ascii: "/"))
    }
}

/// What came of the first names of a `ListsRequest`, in their order. The others were not tried.
public struct ListsAnswer: Sendable, Equatable {
    public enum Outcome: UInt8, Sendable {
        /// The list is as the change would make it.
        case same = 0
        case changed = 1
        /// Nothing was done: the command changes the object by itself, and learns why it may not.
        case left = 2
    }

    public var token: UInt64
    public var outcomes: [Outcome]

    public init(token: UInt64, outcomes: [Outcome]) { (self.token, self.outcomes) = (token, outcomes) }

    /// The token with the lowest byte first, and a byte for each name.
    public var bytes: [UInt8] { littleEndian(token) + outcomes.map(\.rawValue) }

    /// - Returns: nil for anything that `bytes` does not write.
    public init?(reading bytes: some Collection<UInt8>) {
        guard bytes.count >= 8, bytes.count <= 8 + ListsRequest.mostNames else { return nil }
        token = number(bytes.prefix(8))
        outcomes = []
        for byte in bytes.dropFirst(8) {
            guard let outcome = Outcome(rawValue: byte) else { return nil }
            outcomes.append(outcome)
        }
    }
}

private func littleEndian(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }

private func number(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
