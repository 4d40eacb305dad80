import Commands

/// `aclfs conformance`.
enum ConformanceCheckCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        ConformanceArguments.run(words, wrongUse: 2) { arguments in
            ConformanceCommand.perform(
                ConformanceRequest(json: arguments.json, firstUser: arguments.users, mountpoint: arguments.mountpoint.bytes))
        }
    }
}
