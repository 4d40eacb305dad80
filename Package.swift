// swift-tools-version: 6.2
import PackageDescription

/// Every target is built with the same strictness; a layer never relaxes it for itself.
// What serves requests and what judges millions of cases is optimised in debug builds, too: tests take less than half of the processor's time.
// ACLFS_DEBUG=1 leaves it as a debugger wants it.
let quick: [SwiftSetting] =
    Context.environment["ACLFS_DEBUG"] == nil
    ? [.unsafeFlags(["-O", "-disable-batch-mode", "-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug))] : []
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
// Tests are compiled without debug information, which takes a tenth of the processor's time less. A failed expectation names its line all the
// same, a trap in a test its function. ACLFS_DEBUG=1 gives a debugger what it needs.
let test: [SwiftSetting] =
    strict
    + (Context.environment["ACLFS_DEBUG"] == nil
        ? [.unsafeFlags(["-Xfrontend", "-gnone"], .when(configuration: .debug))] : [])

// System calls that tests can have fail: not in the program that is installed (docs/decisions/0024-faults-at-compile-time.md).
let faults = "ACLFS_FAULTS"

let shim: [CSetting] = [.define("_GNU_SOURCE"), .unsafeFlags(["-Wall", "-Wextra", "-Werror"])]

// Targets stand in the order of the layers (docs/internals/architecture.md): each imports only from above.
let package = Package(
    name: "aclfs",
    products: [
        // What people type, and what serves mounts.
        .executable(name: "aclfs", targets: ["aclfs"]), .executable(name: "aclfsd", targets: ["aclfsd"]),
        // For other programs (Examples/decide).
        .library(name: "Authorization", targets: ["Authorization"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0")
    ],
    targets: [
        // 1: what a decision is and how it is reached; imports nothing. It is generic over who asks, and must be
        // specialised where it is used: without this flag a decision takes three times as long (docs/internals/performance.md).
        .target(
            name: "Authorization",
            swiftSettings: strict + quick + [.unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))]),
        // 2: text and stored forms of the core's values.
        .target(name: "ACLFormats", dependencies: ["Authorization"], path: "Sources/Formats/ACLFormats", swiftSettings: strict),
        // Forms of lists that other systems define.
        .target(
            name: "WireFormats", dependencies: ["Authorization", "ACLFormats"], path: "Sources/Formats/WireFormats",
            swiftSettings: strict + quick),
        // 3: profiles, compiled to a table from place to rights.
        .target(
            name: "SandboxPolicy", dependencies: ["Authorization", "ACLFormats"], path: "Sources/Sandbox/Policy", swiftSettings: strict),
        // 4: system calls, one Swift function each over a narrow C shim.
        .target(name: "CLinux", path: "Sources/Linux/CLinux", cSettings: shim + [.define(faults, .when(configuration: .debug))]),
        .target(
            name: "LinuxSystem", dependencies: ["CLinux"],
            path: "Sources/Linux/LinuxSystem", swiftSettings: strict + quick + [.define(faults, .when(configuration: .debug))]),
        // 5: what daemons and commands say to each other.
        .target(
            name: "ControlProtocol", dependencies: ["ACLFormats", "SandboxPolicy", "LinuxSystem"], path: "Sources/Control/ControlProtocol",
            swiftSettings: strict),
        // libacl behind our own types.
        .systemLibrary(name: "CACL", path: "Sources/Formats/CACL", pkgConfig: "libacl", providers: [.apt(["libacl1-dev"])]),
        .target(name: "LibACL", dependencies: ["CACL", "WireFormats"], path: "Sources/Formats/LibACL", swiftSettings: strict),
        // 6: the words of `-o`.
        .target(
            name: "MountOptions", dependencies: ["Authorization", "ACLFormats", "SandboxPolicy", "LinuxSystem"],
            path: "Sources/Daemon/MountOptions", swiftSettings: strict),
        // 7: names, UUIDs, membership.
        .target(
            name: "Identity", dependencies: ["Authorization", "ACLFormats", "WireFormats", "LinuxSystem"], path: "Sources/Backing/Identity",
            swiftSettings: strict + quick),
        // 8: objects of the backing directory and their metadata record.
        .target(
            name: "BackingStore", dependencies: ["Authorization", "ACLFormats", "WireFormats", "LinuxSystem"],
            path: "Sources/Backing/BackingStore", swiftSettings: strict + quick),
        // 9: libfuse3 behind our own types.
        .systemLibrary(
            name: "CFuse3", path: "Sources/Fuse/CFuse3", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        // Mounting itself does without it.
        .target(name: "CFuseMount", path: "Sources/Fuse/CFuseMount", cSettings: shim),
        .target(name: "FuseMounts", dependencies: ["CFuseMount"], path: "Sources/Fuse/FuseMounts", swiftSettings: strict),
        .target(name: "CFuseTransport", dependencies: ["CFuse3"], path: "Sources/Fuse/CFuseTransport", cSettings: shim),
        .target(name: "CFuseShim", dependencies: ["CFuse3", "CFuseTransport"], path: "Sources/Fuse/CFuseShim", cSettings: shim),
        .target(
            name: "FuseSession", dependencies: ["CFuseTransport", "CFuseShim", "FuseMounts", "LinuxSystem"],
            path: "Sources/Fuse/FuseSession",
            swiftSettings: strict + quick),
        // 10: every operation: find, authorize, perform, reply.
        .target(
            name: "ACLFileSystem",
            dependencies: [
                "Authorization", "ACLFormats", "WireFormats", "SandboxPolicy", "ControlProtocol", "LinuxSystem", "LibACL", "MountOptions",
                "Identity", "BackingStore", "FuseSession",
            ], path: "Sources/FileSystem", swiftSettings: strict + quick),
        // 11: what the commands do, and the two executables. First what all of them share.
        .target(
            name: "ToolSupport", dependencies: ["ACLFormats", "ControlProtocol", "LinuxSystem"], path: "Sources/Tools/ToolSupport",
            swiftSettings: strict),
        // Profiles as files.
        .target(
            name: "ProfileFiles", dependencies: ["ACLFormats", "SandboxPolicy", "ControlProtocol", "LinuxSystem"],
            path: "Sources/Sandbox/Files", swiftSettings: strict),
        // What is in them; the only one that may use Foundation, so never a part of what serves (docs/decisions/0039-two-programs.md).
        .target(
            name: "SandboxProfiles", dependencies: ["ProfileFiles", "ACLFormats", "SandboxPolicy"],
            path: "Sources/Sandbox/Profiles", swiftSettings: strict),
        // What mount(8) and its kin ask for, as far as both programs need it: requests, what is looked at before, unmounting.
        .target(
            name: "Mounting",
            dependencies: [
                "ToolSupport", "Authorization", "ACLFormats", "SandboxPolicy", "ControlProtocol", "LinuxSystem", "MountOptions", "Identity",
                "BackingStore", "FuseMounts",
            ], path: "Sources/Daemon/Mounting", swiftSettings: strict),
        // The namespaces of `aclfs sandbox run`.
        .target(
            name: "SandboxRun",
            dependencies: [
                "Mounting", "ToolSupport", "ProfileFiles", "SandboxProfiles", "ACLFormats", "SandboxPolicy", "ControlProtocol",
                "LinuxSystem", "FuseMounts",
            ], path: "Sources/Sandbox/Run", swiftSettings: strict),
        // The process that outlives the daemon.
        .target(name: "CKeeper", path: "Sources/Daemon/CKeeper", cSettings: shim),
        // Mounting and serving a tree: its mounts, what clients ask, the grants.
        .target(
            name: "MountDaemon",
            dependencies: [
                "CKeeper", "Mounting", "ToolSupport", "ProfileFiles", "Authorization", "ACLFormats", "SandboxPolicy", "ControlProtocol",
                "LinuxSystem", "MountOptions", "Identity", "BackingStore", "FuseMounts", "FuseSession", "ACLFileSystem",
            ], path: "Sources/Daemon/MountDaemon", swiftSettings: strict),
        // What serves: it runs as root for months, so it has nothing that only commands need.
        .executableTarget(
            name: "aclfsd", dependencies: ["MountDaemon", "Mounting", "ToolSupport", "LinuxSystem"], path: "Sources/Daemon/aclfsd",
            swiftSettings: strict),
        // The documented behaviour as calls of several users.
        .target(
            name: "ConformanceVectors", path: "Sources/Tools/ConformanceVectors", cSettings: shim + [.unsafeFlags(["-std=c23"])]),
        .target(
            name: "Conformance", dependencies: ["ConformanceVectors", "Authorization", "ACLFormats", "WireFormats", "LinuxSystem"],
            path: "Sources/Tools/Conformance", swiftSettings: strict + quick),
        // What the other commands do.
        .target(
            name: "Commands",
            dependencies: [
                "Conformance", "Mounting", "ToolSupport", "ProfileFiles", "SandboxProfiles", "Authorization", "ACLFormats",
                "SandboxPolicy", "ControlProtocol", "LinuxSystem", "MountOptions", "Identity", "WireFormats", "BackingStore", "SandboxRun",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], path: "Sources/Tools/Commands", swiftSettings: strict),
        // What people type: reads the words of the command line and calls the targets above.
        .executableTarget(
            name: "aclfs",
            dependencies: [
                "Commands", "Conformance", "Mounting", "ToolSupport", "ProfileFiles", "SandboxProfiles", "ControlProtocol", "LinuxSystem",
            ], path: "Sources/Tools/aclfs", swiftSettings: strict),

        .target(
            name: "ReferenceModel", path: "Tests/ReferenceModel", swiftSettings: strict + quick),
        .target(
            name: "TestSupport", dependencies: ["Authorization", "ACLFormats", "Conformance", "ReferenceModel", "LinuxSystem"],
            path: "Tests/TestSupport",
            swiftSettings: strict + quick),
        // Parsers of bytes from outside; with ACLFS_FUZZER they are built for libFuzzer, which brings its own main.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "ACLFormats", "Authorization", "Commands", "ControlProtocol", "Identity", "MountOptions", "SandboxPolicy",
                "SandboxProfiles", "WireFormats",
            ],
            path: "Tests/FuzzTargets", swiftSettings: strict),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets", "TestSupport"], exclude: ["Corpus"], swiftSettings: test),
        .testTarget(
            name: "SandboxPolicyTests", dependencies: ["SandboxPolicy", "Authorization"], swiftSettings: test),
        .testTarget(
            name: "ConformanceTests", dependencies: ["Conformance", "Authorization", "ACLFormats", "TestSupport"], swiftSettings: test),
        .testTarget(
            name: "AuthorizationTests", dependencies: ["Authorization", "TestSupport"], swiftSettings: test),
        .testTarget(
            name: "ControlProtocolTests", dependencies: ["ControlProtocol", "ACLFormats", "SandboxPolicy"], swiftSettings: test),
        .testTarget(
            name: "ACLFormatsTests", dependencies: ["ACLFormats", "TestSupport"], swiftSettings: test),
        .testTarget(
            name: "WireFormatsTests", dependencies: ["WireFormats", "LibACL", "Authorization", "ACLFormats", "TestSupport"],
            swiftSettings: test + quick),
        .testTarget(
            name: "DifferentialTests", dependencies: ["Authorization", "ReferenceModel", "TestSupport"],
            swiftSettings: test),
        // Acts as other users for the mount tests; not shipped.
        .executableTarget(name: "aclfs-act", path: "Tests/ActAs", cSettings: shim),
        // Takes rights away under the calls of many processes; not shipped.
        .executableTarget(name: "aclfs-race", path: "Tests/RaceClient", cSettings: shim),
        // Leaves gaps as many programs do at once; not shipped.
        .executableTarget(name: "aclfs-gaps", path: "Tests/GapClient", cSettings: shim),
        .executableTarget(name: "aclfs-durable", path: "Tests/DurableClient", cSettings: shim),
        // Calls with numbers at the edges, on a mount and on the file system behind it; not shipped.
        .executableTarget(name: "aclfs-edges", path: "Tests/EdgeClient", cSettings: shim),
        // A source with the attributes of FAT, for kernels without that; not shipped.
        .executableTarget(name: "aclfs-fat", dependencies: ["CFuse3"], path: "Tests/FATFileSystem", cSettings: shim),
        // Tries to get out of a sandbox, one way per call; not shipped.
        .executableTarget(name: "aclfs-escape", path: "Tests/EscapeClient", cSettings: shim),
        // The loops that `make bench` measures, and what the evaluator and the parsers cost; not shipped.
        .executableTarget(name: "aclfs-load", path: "Benchmarks/Load", cSettings: shim),
        .target(name: "AllocationCount", path: "Benchmarks/AllocationCount", cSettings: shim),
        .executableTarget(
            name: "aclfs-microbench", dependencies: ["AllocationCount", "Authorization", "ACLFormats"],
            path: "Benchmarks/Micro", swiftSettings: strict),
        .testTarget(
            name: "MountTests",
            dependencies: ["Conformance", "TestSupport", "ReferenceModel", "LinuxSystem", "Authorization", "ACLFormats"],
            swiftSettings: test),
        .testTarget(name: "LinuxSystemTests", dependencies: ["LinuxSystem", "TestSupport"], swiftSettings: test),
        .testTarget(
            name: "MountOptionsTests", dependencies: ["MountOptions", "Authorization", "LinuxSystem", "TestSupport"], swiftSettings: test),
        .testTarget(
            name: "IdentityTests", dependencies: ["Identity", "Authorization", "ACLFormats", "LinuxSystem", "TestSupport"],
            swiftSettings: test),
        .testTarget(
            name: "ACLFileSystemTests",
            dependencies: [
                "ACLFileSystem", "ACLFormats", "WireFormats", "Authorization", "SandboxPolicy", "ControlProtocol", "LinuxSystem",
                "MountOptions", "BackingStore", "FuseSession", "CFuseShim", "TestSupport",
            ], swiftSettings: test),
        .testTarget(
            name: "BackingStoreTests",
            dependencies: ["BackingStore", "Authorization", "ACLFormats", "CLinux", "LinuxSystem", "TestSupport"], swiftSettings: test),
        // A session of libfuse on a socket, and a look inside the transport; not shipped.
        .target(
            name: "TransportHarness", dependencies: ["CFuseTransport", "CFuse3"], path: "Tests/TransportHarness",
            cSettings: shim + [.headerSearchPath("../../Sources/Fuse/CFuseTransport")]),
        .testTarget(
            name: "CFuseTransportTests", dependencies: ["CFuseTransport", "TransportHarness", "LinuxSystem", "TestSupport"],
            swiftSettings: test),
        .testTarget(
            name: "FuseSessionTests", dependencies: ["FuseSession", "FuseMounts", "LinuxSystem", "TestSupport"], swiftSettings: test),
        .testTarget(
            name: "CommandsTests",
            dependencies: ["Commands", "ToolSupport", "Identity", "Authorization", "ACLFormats", "LinuxSystem", "TestSupport"],
            swiftSettings: test),
        .testTarget(
            name: "SandboxProfilesTests",
            dependencies: [
                "SandboxProfiles", "ProfileFiles", "SandboxPolicy", "Authorization", "MountDaemon", "Mounting", "MountOptions",
                "ToolSupport",
            ],
            swiftSettings: test),
        .testTarget(
            name: "ControlTests", dependencies: ["aclfs", "aclfsd", "ACLFormats", "LinuxSystem", "TestSupport"], swiftSettings: test),
    ]
)

// Its main is in libFuzzer, so no other build can link it.
if Context.environment["ACLFS_FUZZER"] != nil {
    package.targets.append(.executableTarget(name: "aclfs-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzzer"))
}
