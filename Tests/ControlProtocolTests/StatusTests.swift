import ACLFormats
import ControlProtocol
import SandboxPolicy
import Testing

/// The status as docs/reference/control.md has it, byte for byte, and what a command shows of it.
@Suite struct StatusTests {
    private static let containers = [[Array("a".utf8), Array("b".utf8)]]

    private func status(_ sandbox: ProfileSummary?, shared: String?, paths: [JSON.Member] = []) -> StatusAnswer {
        StatusAnswer(
            source: "/srv", mountpoint: "/mnt", version: "0.1.0", owner: 501, metadata: "trusted.aclfs", attributeRoom: 3224,
            sharedKind: shared,
            options: ["rw", "cache=auto"], sandbox: sandbox, runningSandboxes: 2, runningContainers: Self.containers, sourceReach: "root",
            identitiesProblem: shared.map { "/etc/ids: \($0)" },
            keeping: StatusAnswer.Keeping(process: 7, deaths: 1, longestWait: 40, obstacle: "rings"), paths: paths,
            cache: [
                .init(.entryTimeout, 1), .init(.attributeTimeout, 2), .init(.suspended, .texts(["a mount stands below"])),
                .init(.epochBumps, 3), .init(.watchedObjects, 4), .init(.watchedBytes, 5),
            ],
            zeroFill: [
                .init(.reservedBytes, 1), .init(.writtenBytes, 2), .init(.filesWaiting, 3), .init(.filesOverBudget, 4),
                .init(.bytesOverBudget, 5), .init(.filesLeftWithHoles, UInt64.max),
            ],
            data: [
                .init(.opensPassthrough, 1), .init(.opensCached, 2), .init(.opensUncached, 3), .init(.backingIDsOpened, 4),
                .init(.backingIDsIdle, 5), .init(.backingIDsClosed, 6), .init(.backingIDsRefused, 7), .init(.heldFiles, 8),
                .init(.sleepingThreads, 9),
            ],
            counters: [.init(.allowed, 10), .init(.denied, .object([.init("acl", .number(1)), .init("sandbox", .number(2))]))])
    }

    private let paths: [JSON.Member] = [
        .init(.protocolVersion, "7.42"), .init(.transport, "uring"), .init(.maxWrite, 1_048_576), .init(.parallelDirectoryOperations, true),
        .init("epoch", .object([.init(.used, true), .init(.why, "all at once")])),
        .init("statx", .object([.init(.used, false), .init(.why, "none")])),
    ]

    private let rest: String =
        #""cache":{"entry_timeout":1,"attribute_timeout":2,"suspended":["a mount stands below"],"epoch_bumps":3,"#
        + #""watched_objects":4,"watched_bytes":5},"#
        + #""zerofill":{"reserved_bytes":1,"written_bytes":2,"files_waiting":3,"files_over_budget":4,"bytes_over_budget":5,"#
        + #""files_left_with_holes":9223372036854775807},"data":{"opens_passthrough":1,"opens_cached":2,"opens_uncached":3,"#
        + #""backing_ids_opened":4,"backing_ids_idle":5,"backing_ids_closed":6,"backing_ids_refused":7,"held_files":8,"#
        + #""sleeping_threads":9},"counters":{"allowed":10,"denied":{"acl":1,"sandbox":2}}}"#

    @Test func isSentAsItWas() throws {
        let whole = status(ProfileSummary(RequestTests.profile, closed: "too many"), shared: "nfs", paths: paths)
        let expected: String =
            #"{"source":"/srv","mountpoint":"/mnt","version":"0.1.0","owner":501,"metadata":"trusted.aclfs","attribute_room":3224,"shared":"nfs","#
            + #""options":["rw","cache=auto"],"sandbox":{"profile":"p","bundle":"a.b","home":"/Users/ann","layout":"macos","closed":"too many"},"#
            + #""running_sandboxes":2,"running_containers":[{"path":"/a/b"}],"source_reachable_by":"root","#
            + #""identities_problem":"/etc/ids: nfs","daemon":7,"deaths":1,"longest_wait_ms":40,"upgrade_obstacle":"rings","paths":{"protocol":"7.42","transport":"uring","max_write":1048576,"#
            + #""parallel_directory_operations":true,"epoch":{"used":true,"why":"all at once"},"statx":{"used":false,"why":"none"}},"#
            + rest
        #expect(String(decoding: JSONText.write(whole.json), as: UTF8.self) == expected)
        let bare = status(nil, shared: nil)
        let free: String =
            #"{"source":"/srv","mountpoint":"/mnt","version":"0.1.0","owner":501,"metadata":"trusted.aclfs","attribute_room":3224,"shared":false,"#
            + #""options":["rw","cache=auto"],"sandbox":null,"running_sandboxes":2,"running_containers":[{"path":"/a/b"}],"#
            + #""source_reachable_by":"root","identities_problem":null,"daemon":7,"deaths":1,"longest_wait_ms":40,"upgrade_obstacle":"rings","paths":{},"#
            + rest
        #expect(String(decoding: JSONText.write(bare.json), as: UTF8.self) == free)
    }

    @Test func isRead() throws {
        let sent = status(ProfileSummary(RequestTests.profile, closed: "too many"), shared: "nfs", paths: paths)
        let read = StatusAnswer(reading: try JSONText.parse(JSONText.write(sent.json)))
        #expect(
            read.source == Array("/srv".utf8) && read.metadata == "trusted.aclfs" && read.attributeRoom == 3224 && read.sharedKind == "nfs")
        #expect(read.options == ["rw", "cache=auto"] && read.runningSandboxes == .number(2) && read.sourceReach == "root")
        #expect(read.identitiesProblem == "/etc/ids: nfs" && status(nil, shared: nil).identitiesProblem == nil)
        #expect(read.runningContainers == Self.containers)
        let sandbox = try #require(read.sandbox)
        #expect(sandbox.name == "p" && sandbox.file == nil && sandbox.bundle == "a.b" && sandbox.home == Array("/Users/ann".utf8))
        #expect(sandbox.layout == "macos" && sandbox.closed == "too many" && read.tellsSandbox)
        #expect(read.paths.map(\.name) == ["protocol", "transport", "max_write", "parallel_directory_operations", "epoch", "statx"])
        #expect(
            read.paths.map(\.value) == [
                .text("7.42"), .text("uring"), .number(1_048_576), .flag(true), .way(isUsed: true, why: "all at once"),
                .way(isUsed: false, why: "none"),
            ])
        #expect(read.cache.map(\.value) == [.number(1), .number(2), .texts(["a mount stands below"]), .number(3), .number(4), .number(5)])
        #expect(read.zeroFill.count == 6 && read.data.count == 9)
        #expect(read.allowed == .number(10) && read.denied.map(\.name) == ["acl", "sandbox"])
    }

    /// A daemon of another build tells less, or more.
    @Test func whatIsNotToldIsMissing() throws {
        let empty = StatusAnswer(reading: .object([]))
        #expect(empty.source == nil && empty.metadata == nil && empty.sharedKind == nil && empty.options.isEmpty)
        #expect(!empty.tellsSandbox && empty.sandbox == nil && empty.runningSandboxes == nil && empty.sourceReach == nil)
        #expect(empty.runningContainers == nil)
        #expect(empty.paths.isEmpty && empty.cache.isEmpty && empty.data.isEmpty && empty.zeroFill.isEmpty)
        #expect(empty.allowed == nil && empty.denied.isEmpty)
        let free = StatusAnswer(reading: status(nil, shared: nil).json)
        #expect(free.tellsSandbox && free.sandbox == nil && free.sharedKind == nil)
        let text = Array(#"{"cache":{"entry_timeout":1,"new":null},"more":[1]}"#.utf8)
        let later = StatusAnswer(reading: try JSONText.parse(text))
        #expect(later.cache.map(\.name) == ["entry_timeout", "new"] && later.cache.last?.value == .other)
        #expect(JSONText.write(later.json) == text, "--json prints it whole")
    }

    @Test func aProfileIsSummedUp() {
        let bare = SandboxProfile(name: "p", entitlements: RequestTests.profile.entitlements, bundle: nil, home: [])
        #expect(JSONText.write(.object(ProfileSummary(bare).members)) == Array(#"{"profile":"p","home":"/"}"#.utf8))
    }
}
