import Commands
import ToolSupport

/// `aclfs purge`.
enum PurgeCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        PurgeArguments.run(words, wrongUse: 2) { arguments in
            let word = arguments.olderThan ?? PurgeRequest.usualAge
            guard let age = PurgeRequest.age(word) else {
                printError("aclfs: purge: '\(word)' is no age; 30m, 12h, 3d and 2w are some")
                return 2
            }
            return Purge.perform(
                PurgeRequest(
                    paths: arguments.paths.map(\.bytes), age: age, isDryRun: arguments.dryRun, isVerbose: arguments.verbose,
                    json: arguments.json))
        }
    }
}
