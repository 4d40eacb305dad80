import SandboxRun

/// `aclfs sandbox run PROFILE … -- COMMAND …`.
enum SandboxRunCommand {
    /// - Parameter words: after `run`.
    static func run(_ words: [[UInt8]]) -> Int32 {
        let end = words.firstIndex(of: Array("--".utf8))
        let command = end.map { Array(words[($0 + 1)...]) } ?? []
        return SandboxRunArguments.run(Array(words[..<(end ?? words.count)]), wrongUse: 2) { arguments in
            SandboxRunSequence.run(
                SandboxRunRequest(
                    profile: arguments.profile.bytes, bundle: arguments.bundle?.bytes, home: arguments.home?.bytes,
                    layout: arguments.layout?.bytes, mount: arguments.mount?.bytes, command: command))
        }
    }
}
