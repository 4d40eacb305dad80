import Foundation
import TestSupport
import Testing

/// One user's questions at the control socket take a bounded part of a processor (docs/reference/control.md "How much one user may ask").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ControlFloodTests {
    /// Eight connections ask as fast as they are answered. A refusal is an answer; so is the end of a connection.
    private static let flood = #"""
        import json, os, socket, sys, time
        path, message, end = sys.argv[1], sys.argv[2].encode(), time.monotonic() + float(sys.argv[3])
        message = message.replace(b"SLASHES", b"/" * 60000)
        children = []
        for _ in range(8):
            child = os.fork()
            if child:
                children.append(child)
                continue
            errors, count = set(), 0
            while time.monotonic() < end:
                try:
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(60); s.connect(path)
                    while time.monotonic() < end:
                        s.send(message); answer = s.recv(65536)
                        if not answer: break
                        count += 1; errors.add(str(json.loads(answer).get("error")))
                except OSError: pass
            print(count, sorted(errors), flush=True)
            os._exit(0)
        for child in children: os.waitpid(child, 0)
        """#

    /// The answers that a flood got.
    private static func count(_ output: String) -> Int {
        output.split(separator: "\n").reduce(0) { $0 + (Int($1.prefix { $0.isNumber }) ?? 0) }
    }

    /// Seconds of a processor that a process has had.
    private func processor(_ pid: pid_t) -> Double {
        let fields = ProcFile.text("/proc/\(pid)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    @Test(arguments: [
        (#"{"v":1,"command":"explain","operation":"stat","path":"SLASHES"}"#, "'ENAMETOOLONG'"),
        (#"{"v":1,"command":"effective","path":"a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"}"#, "'None'"),
    ])
    func aFloodTakesLittleOfTheDaemon(_ message: String, _ answers: String) throws {
        guard access("/usr/bin/python3", X_OK) == 0 else { return print("ControlFloodTests did not run: python3 is missing") }
        let fixture = try MountFixture()
        let deep = fixture.mountpoint + String(repeating: "/a", count: 32)
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        let daemon = try #require(MountFixture.daemons(of: fixture.mountpoint).first)
        let line = ProcFile.text("/proc/self/mountinfo").split(separator: "\n").last { $0.contains(" \(fixture.mountpoint) ") } ?? ""
        let device = String(line.split(separator: " ").dropFirst(2).first ?? "")
        let socket = "/run/aclfs/\(device.replacing(":", with: "-")).sock"
        // Root's questions have no limit: what an answer takes in this build.
        let idle = processor(daemon)
        let free = try Spawn.run(["/usr/bin/python3", "-c", Self.flood, socket, message, "1"])
        let answer = (processor(daemon) - idle) / Double(max(1, Self.count(free.output)))
        #expect(free.status == 0 && free.output.contains(answers), "\(free)")
        let before = processor(daemon)
        let start = Date()
        let result = try TestUser.carol.run("/usr/bin/python3", "-c", Self.flood, socket, message, "3")
        let spent = processor(daemon) - before
        let elapsed = Date().timeIntervalSince(start)
        #expect(result.status == 0 && result.output.contains(answers), "\(result)")
        // What a user has at once, a twentieth of the time, the answers that were begun then, and room for what else the daemon does.
        let expected = 0.5 + elapsed / 20
        #expect(spent < 2 * expected + 8 * answer + 1, "\(spent) s of a processor in \(elapsed) s, \(answer) each: \(result)")
        // Without a limit it would answer as often as root is.
        let ratio = Double(Self.count(result.output)) / 3 / Double(max(1, Self.count(free.output)))
        #expect(ratio < 0.6 || answer * Double(Self.count(result.output)) < 2 * expected, "\(ratio) of root's rate: \(result)")
        // Others are answered.
        let status = try Spawn.run([MountTesting.program("aclfs"), "status", fixture.mountpoint])
        #expect(status.status == 0, "\(status)")
        let asked = try TestUser.alice.run(MountTesting.program("aclfs"), "explain", "stat", fixture.mountpoint)
        #expect(asked.status == 0, "\(asked)")
    }
}
