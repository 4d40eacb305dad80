import ACLFormats
import Authorization

/// Why a value in a form of NFSv4 cannot be read, or a list cannot be written in it.
public struct NFS4Error: Error, Sendable, Hashable {
    /// What is wrong.
    public enum Problem: Error, Sendable, Hashable {
        /// The value ends within a number or a name: bytes that are needed, and bytes that are left.
        case truncated(needed: UInt32, left: Int)
        /// The number of entries that the value claims.
        case tooManyEntries(UInt32)
        /// The value has another length than that of its entries.
        case wrongLength(Int, expected: Int)
        /// Bytes after a name that are not zero.
        case padding
        case unknownType(UInt32)
        /// The bits that have no meaning here.
        case unknownFlags(UInt32)
        case unknownRights(UInt32)
        case unknownListFlags(UInt32)
        /// Neither 0 nor 1 in the field that marks OWNER@, GROUP@ and EVERYONE@.
        case unknownMark(UInt32)
        case unknownSpecialIdentity(UInt32)
        /// Bytes that are no name: empty, too long, not UTF-8, or with control characters.
        case badName([UInt8])
        /// No user, or no group, has this name or number.
        case noSuchName([UInt8], isGroup: Bool)
        /// The account databases did not answer.
        case unanswered([UInt8])
        /// A UUID whose kind contradicts the flag for groups.
        case contradictingGroupFlag([UInt8])
        /// A stored entry that is neither allow nor deny.
        case kindWithoutForm(UInt32)
        case rightsWithoutForm(UInt32)
        case flagsWithoutForm(UInt32)
        case listFlagsWithoutForm(UInt32)
        /// An identity that has no number.
        case identityWithoutNumber(GUID)
    }

    public var problem: Problem
    /// The position of the entry, from 0; nil = the list itself.
    public var entry: Int?

    public init(_ problem: Problem, entry: Int? = nil) { (self.problem, self.entry) = (problem, entry) }

    /// One sentence for the log: where, what is wrong, and what would be right.
    public var message: String { (entry.map { "entry \($0): " } ?? "") + problem.message }
}

extension NFS4Error.Problem {
    var message: String {
        switch self {
        case .truncated(let needed, let left): "\(needed) bytes are needed, \(left) are left"
        case .tooManyEntries(let count):
            "\(count) entries; a list has at most \(ACL.maximumEntryCount), besides those that stand for the mode"
        case .wrongLength(let length, let expected): "\(length) bytes; the entries have \(expected)"
        case .padding: "the bytes that fill up a name must be 0"
        case .unknownType(let type): "type \(type) is unknown; 0 is allow, 1 is deny"
        case .unknownFlags(let bits): "flags \(hexadecimal(bits)) are unknown"
        case .unknownRights(let bits): "rights \(hexadecimal(bits)) are unknown"
        case .unknownListFlags(let bits): "list flags \(hexadecimal(bits)) are unknown"
        case .unknownMark(let mark): "the mark of a special identity is \(mark); it must be 0 or 1"
        case .unknownSpecialIdentity(let number): "special identity \(number) is unknown; 1 is OWNER@, 2 GROUP@, 3 EVERYONE@"
        case .badName(let name):
            "'\(Self.shown(name))' is no name: 1 to \(NFS4Identity.longestName) bytes of UTF-8 without control characters"
        case .noSuchName(let name, let isGroup): "no \(isGroup ? "group" : "user") '\(Self.shown(name))'"
        case .unanswered(let name): "the account database did not answer about '\(Self.shown(name))'"
        case .contradictingGroupFlag(let name): "the flag for groups contradicts the kind of \(Self.shown(name))"
        case .kindWithoutForm(let kind): "kind \(hexadecimal(kind)) is neither allow nor deny"
        case .rightsWithoutForm(let bits): "rights \(hexadecimal(bits)) have no form in NFSv4"
        case .flagsWithoutForm(let bits): "flags \(hexadecimal(bits)) have no form in NFSv4"
        case .listFlagsWithoutForm(let bits): "list flags \(hexadecimal(bits)) have no form in this attribute"
        case .identityWithoutNumber(let identity): "identity \(identity.uuidText) has no number"
        }
    }

    /// At most as many bytes as a name may have, and one more that shows that it is longer.
    private static func shown(_ name: [UInt8]) -> String { escapedName(name.prefix(NFS4Identity.longestName + 1)) }
}

func hexadecimal(_ bits: UInt32) -> String { "0x" + String(bits, radix: 16) }
