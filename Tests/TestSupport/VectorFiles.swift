import ACLFormats
@_exported import Conformance
import Foundation

/// A case of random-inheritance.jsonl.
public struct InheritanceVector: JSONObject, Hashable {
    public struct Expect: JSONObject, Hashable {
        public var errno: String?
        public var acl: [VectorEntry]?

        public init() {}
        public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
            try members.optional("errno", &errno)
            try members.optional("acl", &acl)
        }
    }
    public var id = ""
    public var kind = ""
    public var parentACL: [VectorEntry]?
    public var initialACL: [VectorEntry]?
    public var initialACLFlags: [String]?
    public var expect = Expect()

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("id", &id)
        try members.required("kind", &kind)
        try members.optional("parent_acl", &parentACL)
        try members.optional("initial_acl", &initialACL)
        try members.optional("initial_acl_flags", &initialACLFlags)
        try members.required("expect", &expect)
    }
}

/// `tree_vectors`: the guide's figures B-1 and B-2.
public struct TreeVectors: JSONObject, Hashable {
    public struct Item: JSONObject, Hashable {
        public var name = ""
        public var type = ""
        public var parent: String?

        public init() {}
        public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
            try members.required("name", &name)
            try members.required("type", &type)
            try members.optional("parent", &parent)
        }
    }
    public struct Step: JSONObject, Hashable {
        public var step = 0
        public var operation = ""
        /// Upper case = explicit, lower case = inherited copy.
        public var state: [String: [String]] = [:]

        public init() {}
        public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
            try members.required("step", &step)
            try members.required("operation", &operation)
            try members.required("state", &state)
        }
    }
    public var tree: [Item] = []
    public var steps: [Step] = []

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("tree", &tree)
        try members.required("steps", &steps)
    }
}

/// A case of `text_vectors`: chmod's editing commands.
public struct TextVector: JSONObject, Hashable, CustomStringConvertible {
    public var id = ""
    public var title = ""
    public var objectType = ""
    public var initialEntries: [String]?
    public var arguments: [String] = []
    public var resultLines: [String]?
    public var exitStatus: Int32 = 0
    public var diagnostics: [String] = []
    public var description: String { "\(id) \(title)" }

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("id", &id)
        try members.required("title", &title)
        try members.required("object_type", &objectType)
        try members.optional("initial_entries", &initialEntries)
        try members.required("arguments", &arguments)
        try members.optional("result_lines", &resultLines)
        try members.required("exit_status", &exitStatus)
        try members.required("diagnostics", &diagnostics)
        members.ignore("note")
    }
}

/// vectors.json.
public struct VectorFile: JSONObject {
    public var directory: [String: VectorGroup] = [:]
    public var vectors: [Vector] = []
    public var textVectors: [TextVector] = []
    public var treeVectors = TreeVectors()

    public init() {}
    public mutating func list(_ members: inout JSONMembers) throws(JSONError) {
        try members.required("directory", &directory)
        try members.required("vectors", &vectors)
        try members.required("text_vectors", &textVectors)
        try members.required("tree_vectors", &treeVectors)
        members.ignore("version", "schema")
    }

    /// The directory service by group number.
    public var groups: [UInt32: VectorGroup] {
        var groups: [UInt32: VectorGroup] = [:]
        for (number, group) in directory { if let gid = UInt32(number) { groups[gid] = group } }
        return groups
    }
}

/// The files of Tests/Vectors: one is in the program, the others are found from where this source file is.
public enum VectorFiles {
    public static func vectors() throws -> VectorFile { try VectorFile(json: StatedVectors.file) }
    public static func randomDecisions() throws -> [Vector] { try lines("random-decisions.jsonl") }
    public static func randomInheritance() throws -> [InheritanceVector] { try lines("random-inheritance.jsonl") }

    private static func lines<Value: JSONValue>(_ name: String) throws -> [Value] {
        let file = Repository.tests.appendingPathComponent("Vectors", isDirectory: true).appendingPathComponent(name)
        return try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map { try Value(json: JSONText.parse(Array($0))) }
    }
}
