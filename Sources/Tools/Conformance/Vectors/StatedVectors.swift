import ACLFormats
import ConformanceVectors

/// Tests/Vectors/vectors.json, which the program carries (docs/internals/conformance.md "How it is built").
public enum StatedVectors {
    public static let file: JSON = {
        let text = Array(UnsafeBufferPointer(start: aclfs_vectors(), count: aclfs_vectors_size()))
        do { return try JSONText.parse(text, limit: text.count) } catch { fatalError("vectors.json: \(error)") }
    }()

    public static let all: [Vector] = {
        do { return try [Vector](json: file["vectors"] ?? .null) } catch { fatalError("vectors.json: \(error)") }
    }()
}
