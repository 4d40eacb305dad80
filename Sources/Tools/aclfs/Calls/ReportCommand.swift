import Commands

/// `aclfs report`.
enum ReportCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        ReportArguments.run(words, wrongUse: 2, more: help) { arguments in
            Report.perform(
                ReportRequest(
                    directory: arguments.directory.bytes, output: arguments.output?.bytes, isForced: arguments.force,
                    json: arguments.json, metadata: arguments.metadata, isOffline: arguments.offline))
        }
    }

    private static let help = """
        Examples:

          aclfs report -o share.html /srv/share
          aclfs report --json /srv/share
        """
}
