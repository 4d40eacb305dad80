import Commands

/// `aclfs status`.
enum StatusCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        StatusArguments.run(words, wrongUse: 2) { arguments in
            StatusReport.perform(StatusRequest(json: arguments.json, mountpoint: arguments.mountpoint?.bytes))
        }
    }
}
