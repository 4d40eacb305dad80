/// A numbered rule of docs/reference/semantics.md.
public struct Rule: Sendable {
    /// Where the rule comes from.
    public enum Source: Hashable, Sendable {
        /// Sections and questions of docs/reference/authorization.md, with commas between.
        case authorization(String)
        /// Another document of docs.
        case document(String)
    }

    /// The number behind the S.
    public var number: Int
    public var source: Source
    /// The vectors that hold it, by the number behind the V.
    public var vectors: [Int]

    init(_ number: Int, _ source: Source, _ vectors: [Int] = []) {
        (self.number, self.source, self.vectors) = (number, source, vectors)
    }

    /// - Parameter number: the number behind the S.
    public static func numbered(_ number: Int) -> Rule? { all.first { $0.number == number } }
}

extension Rule.Source {
    /// The sources of several rules as one text, each document and section once.
    public static func text(_ sources: [Rule.Source]) -> String {
        var sections: [String] = []
        var documents: [String] = []
        for source in sources {
            switch source {
            case .authorization(let text):
                for section in text.split(separator: ",").map({ $0.drop { $0 == " " } }) where !sections.contains(String(section)) {
                    sections.append(String(section))
                }
            case .document(let name): if !documents.contains("docs/\(name)") { documents.append("docs/\(name)") }
            }
        }
        let authorization = sections.isEmpty ? [] : ["docs/reference/authorization.md \(sections.joined(separator: ", "))"]
        return (authorization + documents).joined(separator: ", ")
    }
}
