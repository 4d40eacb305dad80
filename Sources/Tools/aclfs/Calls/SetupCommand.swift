import Commands

/// `aclfs fstab-line`.
enum FstabLineCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        FstabLineArguments.run(words, wrongUse: 2) { arguments in
            FstabLine.perform(
                source: arguments.source, mountpoint: arguments.mountpoint, options: arguments.options, automounts: arguments.automount)
        }
    }
}

/// `aclfs doctor`.
enum DoctorCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        DoctorArguments.run(words, wrongUse: 2) { arguments in
            Doctor.perform(source: arguments.source, mountpoint: arguments.mountpoint, json: arguments.json)
        }
    }
}
