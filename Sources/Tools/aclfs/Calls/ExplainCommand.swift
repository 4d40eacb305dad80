import Commands

/// `aclfs explain`.
enum ExplainCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        ExplainArguments.run(words, wrongUse: 2, more: OperationHelp.text) { arguments in
            Explain.perform(
                ExplainRequest(
                    json: arguments.json, subject: arguments.subject, whoCan: arguments.whoCan, isRecursive: arguments.recursive,
                    last: arguments.last, words: arguments.words.map(\.bytes)))
        }
    }
}

/// `aclfs effective`.
enum EffectiveCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        EffectiveArguments.run(words, wrongUse: 2) { arguments in
            EffectiveRights.perform(
                EffectiveRequest(json: arguments.json, subject: arguments.subject, path: arguments.path.bytes))
        }
    }
}
