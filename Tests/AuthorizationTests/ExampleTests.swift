import Foundation
import TestSupport
import Testing

/// `Examples/decide`, which uses the library as another program would.
@Suite struct ExampleTests {
    private static let example = Repository.top.appendingPathComponent("Examples/decide")
    private static let answers = """
        alice read: yes, by posix:owner:object
        alice change: yes, by posix:owner:object
        alice remove: yes, by posix:owner:parent
        alice chmod: yes, by owner_right
        bob read: yes, by acl:object[1]
        bob change: no (EACCES), by posix:other:object
        bob remove: yes, by acl:object[1]
        bob chmod: no (EPERM), by no_bsd_equivalent
        carol read: no (EACCES), by acl:object[0]
        carol change: no (EACCES), by posix:other:object
        carol remove: no (EACCES), by posix:other:parent
        carol chmod: no (EPERM), by no_bsd_equivalent
        dave read: yes, by posix:group:object
        dave change: no (EACCES), by posix:group:object
        dave remove: no (EACCES), by posix:group:parent
        dave chmod: no (EPERM), by no_bsd_equivalent
        """

    /// Compiled against the library that is built already.
    @Test func theExampleDecides() throws {
        let scratch = try ScratchDirectory("example")
        let built = URL(fileURLWithPath: BuiltProgram.path("aclfs-act")).deletingLastPathComponent()
        let objects = try FileManager.default.contentsOfDirectory(
            at: built.appendingPathComponent("Authorization.build"), includingPropertiesForKeys: nil
        ).map(\.path).filter { $0.hasSuffix(".o") }
        let program = scratch.path + "/decide"
        let compiled = try Spawn.run(
            ["swiftc", "-I", built.appendingPathComponent("Modules").path, "-o", program]
                + [Self.example.appendingPathComponent("Sources/decide/main.swift").path] + objects)
        #expect(compiled.status == 0, "\(compiled)")
        #expect(try Spawn.run([program]).output == Self.answers)
    }

    /// As its readers build it, everything anew.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["ACLFS_TEST_LONG"] == "1", "ACLFS_TEST_LONG=1"))
    func thePackageBuilds() throws {
        let scratch = try ScratchDirectory("example")
        let built = try Spawn.run(["swift", "build", "--package-path", Self.example.path, "--scratch-path", scratch.path])
        #expect(built.status == 0, "\(built)")
        #expect(try Spawn.run([scratch.path + "/debug/decide"]).output == Self.answers)
    }
}
