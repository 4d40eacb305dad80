import ACLFormats
import Conformance

extension Vector {
    public init(text: String) throws { try self.init(json: JSONText.parse(Array(text.utf8))) }

    /// One line of JSON, to be pasted into a file of vectors.
    public var text: String { String(decoding: JSONText.write(json), as: UTF8.self) }
}
