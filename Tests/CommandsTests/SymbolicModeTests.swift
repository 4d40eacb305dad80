import Commands
import Testing

@Suite("modes as chmod takes them")
struct SymbolicModeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let before: UInt16
        let after: UInt16
        var directory = false
        init(_ text: String, _ before: UInt16, _ after: UInt16, directory: Bool = false) {
            (self.text, self.before, self.after, self.directory) = (text, before, after, directory)
        }
        var testDescription: String { "\(String(before, radix: 8)) \(text)" }
    }

    static let cases = [
        Case("644", 0o777, 0o644), Case("0", 0o7777, 0), Case("7777", 0, 0o7777), Case("00755", 0, 0o755),
        Case("u+x", 0o644, 0o744), Case("g-r", 0o644, 0o604), Case("o=rw", 0o640, 0o646), Case("a+r", 0, 0o444),
        Case("ugo+x", 0o600, 0o711), Case("u+rwx,g=r,o=", 0o007, 0o740), Case("+x", 0o644, 0o755),
        Case("+w", 0o444, 0o644), Case("-w", 0o666, 0o466), Case("=r", 0o777, 0o444), Case("=", 0o1777, 0o1000),
        Case("a=rw", 0o7777, 0o1666), Case("u+s", 0o755, 0o4755), Case("g+s", 0o755, 0o2755), Case("+s", 0o755, 0o6755),
        Case("o+s", 0o755, 0o755), Case("u-s", 0o6755, 0o2755), Case("+t", 0o755, 0o1755), Case("a+t", 0o755, 0o1755),
        Case("o+t", 0o755, 0o755), Case("-t", 0o1755, 0o755), Case("u=rwxs", 0, 0o4700), Case("g=rx", 0o2777, 0o757),
        Case("g=u", 0o740, 0o770), Case("o=g", 0o750, 0o755), Case("u=o", 0o754, 0o454), Case("g+u", 0o720, 0o770),
        Case("o-g", 0o757, 0o752), Case("u=u", 0o740, 0o740), Case("g=u-w", 0o700, 0o750),
        Case("u=rw,g=u,o=g", 0, 0o666),
        Case("a+X", 0o644, 0o644), Case("a+X", 0o744, 0o755), Case("a+X", 0o644, 0o755, directory: true),
        Case("a-x,a+X", 0o755, 0o755), Case("u=rwX,go=rX", 0o600, 0o644), Case("u=rwX,go=rX", 0o700, 0o755),
        Case("u+x-w+r", 0o200, 0o500), Case("+", 0o644, 0o644), Case("u+", 0o644, 0o644), Case("=u", 0o700, 0o755),
        Case("-rwx", 0o777, 0o022), Case("a+rt", 0, 0o1444),
    ]

    @Test("each gives its mode, with the umask 022", arguments: cases)
    func apply(_ example: Case) throws {
        let change = try #require(ModeChange(Array(example.text.utf8)))
        let mode = change.applied(to: example.before, isDirectory: example.directory, umask: 0o022)
        #expect(mode == example.after, "\(String(mode, radix: 8))")
    }

    @Test(
        "anything else is no mode",
        arguments: [
            "", "8", "77777", "10000", "0x1", "644a", "rwx", "u", "u+q", "u+x,", ",u+x", "u+x g+x", "u++y", "+a", "=a#",
            "b+x", "u+xg",
        ])
    func refuse(text: String) { #expect(ModeChange(Array(text.utf8)) == nil) }
}
