@_exported import Conformance
import Foundation

/// A case of random-inheritance.jsonl.
public struct InheritanceVector: Codable, Sendable, Hashable {
    public struct Expect: Codable, Sendable, Hashable {
        public var errno: String?
        public var acl: [VectorEntry]?
    }
    public var id: String
    public var kind: String
    public var parentACL: [VectorEntry]?
    public var initialACL: [VectorEntry]?
    public var initialACLFlags: [String]?
    public var expect: Expect
    enum CodingKeys: String, CodingKey {
        case id, kind, expect
        case parentACL = "parent_acl"
        case initialACL = "initial_acl"
        case initialACLFlags = "initial_acl_flags"
    }
}

/// `tree_vectors`: the guide's figures B-1 and B-2.
public struct TreeVectors: Codable, Sendable, Hashable {
    public struct Item: Codable, Sendable, Hashable {
        public var name: String
        public var type: String
        public var parent: String?
    }
    public struct Step: Codable, Sendable, Hashable {
        public var step: Int
        public var operation: String
        /// Upper case = explicit, lower case = inherited copy.
        public var state: [String: [String]]
    }
    public var tree: [Item]
    public var steps: [Step]
}

/// A case of `text_vectors`: chmod's editing commands.
public struct TextVector: Codable, Sendable, Hashable {
    public var id: String
    public var title: String
    public var objectType: String
    public var initialEntries: [String]?
    public var arguments: [String]
    public var resultLines: [String]?
    public var exitStatus: Int32
    public var diagnostics: [String]
    enum CodingKeys: String, CodingKey {
        case id, title, arguments, diagnostics
        case objectType = "object_type"
        case initialEntries = "initial_entries"
        case resultLines = "result_lines"
        case exitStatus = "exit_status"
    }
}

public struct VectorFile: Codable, Sendable {
    public var directory: [String: VectorGroup]
    public var vectors: [Vector]
    public var textVectors: [TextVector]
    public var treeVectors: TreeVectors
    enum CodingKeys: String, CodingKey {
        case directory, vectors
        case textVectors = "text_vectors"
        case treeVectors = "tree_vectors"
    }

    /// The directory service by group number.
    public var groups: [UInt32: VectorGroup] {
        var groups: [UInt32: VectorGroup] = [:]
        for (number, group) in directory { if let gid = UInt32(number) { groups[gid] = group } }
        return groups
    }
}

/// The files of Tests/Vectors, found from where this source file is.
public enum VectorFiles {
    static let folder = Repository.tests.appendingPathComponent("Vectors", isDirectory: true)

    public static func vectors() throws -> VectorFile {
        let data = try Data(contentsOf: folder.appendingPathComponent("vectors.json"))
        return try JSONDecoder().decode(VectorFile.self, from: data)
    }
    public static func randomDecisions() throws -> [Vector] { try lines("random-decisions.jsonl") }
    public static func randomInheritance() throws -> [InheritanceVector] { try lines("random-inheritance.jsonl") }

    private static func lines<Value: Decodable>(_ name: String) throws -> [Value] {
        let data = try Data(contentsOf: folder.appendingPathComponent(name))
        let decoder = JSONDecoder()
        return try data.split(separator: UInt8(ascii: "\n")).map { try decoder.decode(Value.self, from: Data($0)) }
    }
}
