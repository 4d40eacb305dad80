import Foundation
import TestSupport
import Testing

private enum StaticProgram {
    static let canBeMade = (try? run(["sh", "-c", "command -v swiftc && command -v clang"]).status) == 0

    static let source = """
        @_silgen_name("aclfs_end_without_backtrace") func endWithoutBacktrace()
        endWithoutBacktrace()
        print(CommandLine.arguments.dropFirst().joined(separator: " "))
        if CommandLine.arguments.last == "crash" { fatalError() }
        """

    /// - Parameter environment: variables; nothing else is set but the path.
    static func run(
        _ words: [String], in directory: String = "/", environment: [String: String]? = nil
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        if let environment { process.environment = environment }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    static func withProgram(_ body: (String) throws -> Void) throws {
        let directory = try TemporaryDirectory(below: "/tmp")
        _ = try directory.file("main.swift", source)
        let c = Repository.top.appendingPathComponent("Sources/Linux/CLinux").path
        let made = try run(
            [
                "sh", "-c",
                "clang -c -D_GNU_SOURCE -I '\(c)/include' '\(c)/backtrace.c' && swiftc -static-stdlib main.swift backtrace.o -o program",
            ],
            in: directory.path)
        try #require(made.status == 0, "\(made.output)")
        try body(directory.path)
    }
}

/// The released program has Swift's runtime in itself, which tests of the other one do not see. So a small one is made of the same
/// file, and started as users start it: by its name, with an environment of theirs.
@Suite(.enabled(if: StaticProgram.canBeMade, "needs swiftc and clang on the path"))
struct StaticProgramTests {
    @Test func argumentsArriveWhateverTheEnvironment() throws {
        try StaticProgram.withProgram { directory in
            for environment in [[:], ["HOME": "/"], ["SWIFT_BACKTRACE": "enable=no"], ["SWIFT_BACKTRACE": "enable=yes"]] {
                let result = try StaticProgram.run(["\(directory)/program", "one", "two"], environment: environment)
                #expect(result.status == 0 && result.output.contains("one two"), "\(environment): \(result)")
            }
        }
    }

    @Test func aCrashStartsNothingFromTheWorkingDirectory() throws {
        try StaticProgram.withProgram { directory in
            let planted = "printf '#!/bin/sh\\ntouch \(directory)/started\\n' >swift-backtrace; chmod 755 swift-backtrace"
            #expect(try StaticProgram.run(["sh", "-c", planted], in: directory).status == 0)
            let environment = ["PATH": "\(directory):/usr/bin:/bin"]
            let result = try StaticProgram.run(["program", "crash"], in: directory, environment: environment)
            #expect(result.status != 0 && result.output.contains("Fatal error"), "\(result)")
            #expect(access("\(directory)/started", F_OK) != 0)
            // So that it is known to be started from there by who does not turn it off.
            var asked = environment
            asked["SWIFT_BACKTRACE"] = "enable=yes"
            _ = try StaticProgram.run(["program", "crash"], in: directory, environment: asked)
            #expect(access("\(directory)/started", F_OK) == 0)
        }
    }
}
