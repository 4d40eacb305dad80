import Conformance
import Foundation

extension Vector {
    public init(json: String) throws {
        self = try JSONDecoder().decode(Vector.self, from: Data(json.utf8))
    }

    /// One line of JSON, to be pasted into a file of vectors.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "\(self)" }
        return String(decoding: data, as: UTF8.self)
    }
}
