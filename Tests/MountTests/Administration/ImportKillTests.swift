import ACLFormats
import Authorization
import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs acl import` that ends in the middle: each object has its old or its new list, the undo file leads back, and a second import
/// completes the first (docs/guide/export.md "Importing", docs/guide/administration.md "Undo files").
@Suite(
    .serialized,
    .enabled(if: MountTesting.isPossible && isInstalled("getfattr") && isInstalled("python3"), "needs root, /dev/fuse, attr, python3"))
struct ImportKillTests {
    private let tree: TreeFixture
    private var lists: String { tree.fixture.top + "/lists" }
    init() throws { tree = try TreeFixture() }

    /// Objects with several entries each, and `lists`, which states other ones, owners, modes and flags.
    private static let script = """
        set -e; mkdir -p d/{1..3}/x; touch d/{1..3}/{1..4} d/{1..3}/x/{1..2}
        entries() { for entry; do aclfs chmod +a "$entry,file_inherit,directory_inherit" d; done; }
        entries 'user:501 allow read' 'group:20 deny delete' 'user:502 allow write,append' 'everyone allow readattr'; aclfs propagate d
        chown -R 502:600 d; chmod -R u=rwX,g=rX,o= d; aclfs chflags -R hidden d/1
        aclfs acl export d >../lists
        aclfs strip -R d; aclfs chmod -N d; entries 'user:503 allow read' 'group:21 deny delete'; aclfs propagate d
        aclfs strip -R d/2; chown -R 501:20 d; chmod -R 755 d; aclfs chflags -R nohidden d/1; aclfs chflags uchg d/3/*
        """

    /// Kills a program before one of its calls that change something: strace does not know all of them. Its last line is their number.
    private static let tracer = """
        import ctypes, os, platform, resource, signal, struct, sys
        libc = ctypes.CDLL(None, use_errno=True)
        number, words, last = 0, sys.argv[2:], int(sys.argv[1])
        # fsync, fchownat, fchmodat, and the older calls for modes and attributes; then fchmodat2, setxattrat, removexattrat.
        own = {'x86_64': {74, 260, 268, 91, 93, 188, 189, 190, 197, 198, 199}, 'aarch64': {82, 54, 53, 52, 55, 5, 6, 7, 14, 15, 16}}
        changing = own[platform.machine()] | {452, 463, 466}
        child = os.fork()
        if child == 0:
            # Few descriptors: several batches.
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
            libc.ptrace(0, 0, 0, 0)
            os.execv(words[0], words)
        info = ctypes.create_string_buffer(88)
        def trace(request, data):
            if libc.ptrace(request, child, ctypes.c_void_p(len(info) if request == 0x420E else 0), data) < 0:
                sys.exit('ptrace: ' + os.strerror(ctypes.get_errno()))
        status = os.waitpid(child, 0)[1]
        trace(0x4200, ctypes.c_void_p(0x100001))
        while os.WIFSTOPPED(status):
            signal_ = os.WSTOPSIG(status)
            if signal_ == signal.SIGTRAP | 0x80:
                trace(0x420E, info)
                if info[0] == b'\\x01' and struct.unpack_from('Q', info, 24)[0] in changing:
                    number += 1
                    if number == last: os.kill(child, signal.SIGKILL)
                signal_ = 0
            elif signal_ == signal.SIGTRAP: signal_ = 0
            if number != last or last == 0: trace(24, ctypes.c_void_p(signal_))
            status = os.waitpid(child, 0)[1]
        print(number)
        sys.exit(137 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
        """

    private func imported(_ undo: String) -> [String] {
        [MountTesting.program("aclfs"), "acl", "import", "--offline", "--undo-file", undo, lists]
    }
    private func imported() -> [String] { imported(tree.undo) }

    /// The stored list of each object that has any.
    private func stored(_ snapshot: String) throws -> [Substring: ACL] {
        var (lists, path): ([Substring: ACL], Substring) = ([:], "")
        for line in snapshot.split(separator: "\n") {
            if line.hasPrefix("# file: ") { path = line.dropFirst(8) }
            guard line.hasPrefix("trusted.aclfs=0x") else { continue }
            let digits = Array(line.dropFirst(16).utf8)
            let bytes = stride(from: 0, to: digits.count, by: 2).map {
                UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16) ?? 0
            }
            lists[path] = try MetadataRecord(decoding: bytes).acl
        }
        return lists
    }

    private struct Run {
        let top: String
        let before: String
        let after: String
        /// The calls that change something.
        let calls: Int
    }

    private func begin(_ place: TreeFixture.Place) throws -> Run {
        _ = try tree.go(to: .mount)
        let made = try tree.shell(Self.script)
        #expect(made.status == 0, "\(made)")
        let top = try tree.go(to: place) + "/d"
        let before = try tree.snapshot()
        let complete = try Spawn.run(tree.within + ["python3", "-c", Self.tracer, "0"] + imported() + [top])
        #expect(complete.status == 0, "\(complete)")
        let calls = complete.output.split(separator: "\n").last.flatMap { Int($0) } ?? 0
        let run = Run(top: top, before: before, after: try tree.snapshot(), calls: calls)
        let (old, new) = (try stored(run.before), try stored(run.after))
        #expect(run.calls > 80 && old.count == 17 && new.count == 25, "\(run.calls) calls, \(old.count) and \(new.count) lists")
        #expect(new.allSatisfy { old[$0.key] != $0.value })
        let restored = try tree.aclfs("restore", tree.undo)
        #expect(restored.status == 0, "\(restored)")
        #expect(try tree.snapshot() == before)
        unlink(tree.undo)
        return run
    }

    /// - Returns: whether the import was killed between its first and its last change.
    private func expectWhole(_ run: Run, repeats: Bool, _ comment: String) throws -> Bool {
        let now = try tree.snapshot()
        let (old, new, found) = (try stored(run.before), try stored(run.after), try stored(now))
        for path in new.keys { #expect(found[path] == old[path] || found[path] == new[path], "\(comment): \(path)") }
        #expect(Set(found.keys).isSubset(of: new.keys))
        defer { unlink(tree.undo) }
        guard let undo = try? String(contentsOfFile: tree.undo, encoding: .utf8), undo.contains("\n") else {
            #expect(now == run.before, "\(comment): changed without an undo file")
            return false
        }
        if repeats {
            let again = tree.fixture.top + "/again.undo"
            defer { unlink(again) }
            let repeated = try Spawn.run(tree.within + imported(again) + [run.top])
            #expect(repeated.status == 0, "\(comment): \(repeated)")
            #expect(try tree.snapshot() == run.after, "\(comment): repeated")
            #expect(try tree.aclfs("restore", again).status == 0)
        }
        let restored = try tree.aclfs("restore", tree.undo)
        #expect(restored.status == 0, "\(comment): \(restored)")
        #expect(try tree.snapshot() == run.before, "\(comment): restored")
        return now != run.before && now != run.after
    }

    /// Before any of its calls that change something: some of them by chance, in a long run all.
    @Test(arguments: TreeFixture.Place.allCases)
    func anImportThatIsKilledAtACallIsUndoneOrRepeated(_ place: TreeFixture.Place) throws {
        let run = try begin(place)
        let seed = UInt64(ProcessInfo.processInfo.environment["ACLFS_SEED"] ?? "") ?? UInt64.random(in: 0...UInt64(UInt32.max))
        var random = SplitMix64(seed: seed)
        let calls = Array(1...max(1, run.calls))
        // The first calls are those for the undo file, the last ones those of the last object.
        let chosen = MountTesting.isLong ? calls : [1, 3] + calls.dropFirst(5).dropLast(5).shuffled(using: &random).prefix(3)
        var halves = 0
        for (round, call) in chosen.enumerated() {
            let comment = "killed at call \(call) of \(run.calls), ACLFS_SEED=\(seed)"
            let killed = try Spawn.run(tree.within + ["python3", "-c", Self.tracer, String(call)] + imported() + [run.top])
            #expect(killed.status == 137, "\(comment): \(killed)")
            if try expectWhole(run, repeats: round % 2 == 0, comment) { halves += 1 }
        }
        #expect(halves > 0)
    }

    /// At any time, also while the daemon makes a change.
    @Test(.enabled(if: MountTesting.isLong, "part of a long run"), arguments: TreeFixture.Place.allCases)
    func anImportThatIsKilledAtAnyTimeIsUndoneOrRepeated(_ place: TreeFixture.Place) throws {
        let run = try begin(place)
        let begun = DispatchTime.now()
        #expect(try Spawn.run(tree.within + imported() + [run.top]).status == 0)
        let duration = Double(DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds) / 1e9
        _ = try expectWhole(run, repeats: false, "complete")
        var halves = 0
        for round in 0..<100 {
            let delay = String(format: "%.4f", duration * Double.random(in: 0.3...1))
            _ = try Spawn.run(tree.within + ["timeout", "-s", "KILL", delay] + imported() + [run.top])
            if try expectWhole(run, repeats: round % 2 == 0, "killed after \(delay) of \(duration) s") { halves += 1 }
        }
        print("ImportKillTests: \(halves) imports were killed half-way")
    }
}
