import ACLFormats
import Authorization
import TestSupport
import Testing

@Suite("examples of editing (docs/reference/authorization.md 7.7)")
struct TextVectorTests {
    @Test("all are there") func count() throws { #expect(try VectorFiles.vectors().textVectors.count == 25) }

    @Test("each gives the documented list", arguments: try VectorFiles.vectors().textVectors)
    func edit(vector: TextVector) throws {
        let names = ExampleNames()
        var acl: ACL?
        if let initial = vector.initialEntries {
            acl = ACL([])
            for line in initial { acl?.entries += try ACLTextParser.parse(line, names: names) }
        }
        var codes: [String] = []
        do throws(ACLTextError) {
            let result = try Self.edit(vector.arguments, names: names).applied(to: acl)
            acl = result.acl
            codes = result.diagnostics.map(\.code.rawValue)
        } catch {
            codes = [error.code.rawValue]
        }
        let lines = acl.map { ACLTextPrinter.lines($0, isDirectory: vector.objectType == "dir", names: names) }
        #expect(lines == vector.resultLines)
        #expect(codes == vector.diagnostics)
        #expect((codes.isEmpty ? 0 : 1) == vector.exitStatus)
    }

    static func edit(_ arguments: [String], names: ExampleNames) throws(ACLTextError) -> ACLEdit {
        let text = arguments.last ?? ""
        let index = arguments.count > 1 ? Int(arguments[1]) ?? 0 : 0
        switch arguments[0] {
        case "+a": return .add(try ACLTextParser.parse(text, names: names))
        case "+ai":
            return .add(
                try ACLTextParser.parse(text, names: names).map { (entry: ACE) -> ACE in
                    var entry = entry
                    entry.flags.insert(.inherited)
                    return entry
                })
        case "+a#": return .insert(try ACLTextParser.parse(text, names: names), at: index)
        case "-a": return .subtract(try ACLTextParser.parse(text, names: names))
        default: return .remove(at: index)
        }
    }
}
