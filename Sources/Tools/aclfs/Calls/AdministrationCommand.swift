import Commands

/// The guide's operations on trees: `propagate`, `inherit`, `explicit`, `strip`, `copy-mode`, `volume`.
enum AdministrationCommand {
    static func propagate(_ words: [[UInt8]]) -> Int32 {
        PropagateArguments.run(words, wrongUse: 2) { Administration.propagate($0.directory.bytes, $0.tree.options) }
    }

    static func inherit(_ words: [[UInt8]]) -> Int32 {
        InheritArguments.run(words, wrongUse: 2) { Administration.inherit($0.path.bytes, $0.tree.options) }
    }

    static func makeExplicit(_ words: [[UInt8]]) -> Int32 {
        ExplicitArguments.run(words, wrongUse: 2) {
            Administration.makeExplicit($0.path.bytes, isRecursive: $0.recursive, $0.tree.options)
        }
    }

    static func strip(_ words: [[UInt8]]) -> Int32 {
        StripArguments.run(words, wrongUse: 2) {
            Administration.strip($0.path.bytes, inherited: $0.inherited, isRecursive: $0.recursive, $0.tree.options)
        }
    }

    static func copyMode(_ words: [[UInt8]]) -> Int32 {
        CopyModeArguments.run(words, wrongUse: 2) {
            Administration.copyMode($0.directory.bytes, keepsExecution: $0.keepExecute, $0.tree.options)
        }
    }

    static func volume(_ words: [[UInt8]]) -> Int32 {
        VolumeArguments.run(words, wrongUse: 2) {
            Volume.perform($0.source.bytes, $0.settings, isReset: $0.reset, TreeOptions(json: $0.json, metadata: $0.metadata))
        }
    }
}
