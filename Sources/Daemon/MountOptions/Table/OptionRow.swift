/// One setting of a mount: the words of `-o` that say it, and all that is known about them.
package struct OptionRow: Sendable {
    package let kind: Kind
    /// The words. Of words that are equally near to a mistyped one, the first is suggested.
    package let words: [OptionWord]
    /// One line, with which the row in docs/reference/mounting.md begins.
    package let meaning: String
    package let subject: Subject
    package let kernelFlag: KernelFlag?
    package let remount: RemountRule
    package let shown: Shown
    /// The word in force with these options; nil if no word stands for the present value.
    package let inForce: @Sendable (MountOptions) -> String?

    package enum Kind: Sendable, Hashable {
        case setting
        /// A word of mount(8), systemd or libfuse that a mount does not depend on, with any value or none.
        case ignored
        /// To come.
        case unavailable
        case refused(reason: String)
    }

    /// The document that explains a row, and its section there.
    package enum Subject: Sendable {
        /// docs/reference/mounting.md "Options".
        case mount
        /// docs/reference/audit.md, too.
        case audit
        /// docs/guide/sandbox.md "Options", too.
        case sandbox
        /// The kernel keeps it: docs/reference/mounting.md "Options of the kernel".
        case kernel
    }

    /// What a remount may do with a row (docs/reference/mounting.md "Remounting").
    package enum RemountRule: Sendable {
        /// Its word must be the one in force.
        case fixed
        /// The kernel alone changes it.
        case kernel
        /// The same; and the flag can be set and not be cleared.
        case kernelSetsOnly
        /// Kernel and daemon change it, because the daemon judges by it.
        case kernelAndDaemon
        /// The daemon alone changes it.
        case daemon
        /// A remount ignores the word: it concerns new mounts only.
        case nothing
    }

    /// What `aclfs status` shows of a row.
    package enum Shown: Sendable {
        case never
        /// The word in force.
        case always
        /// The same, if it is not the default.
        case unlessDefault
        /// The word for the kernel's flag as it is in the mount table.
        case kernel
        /// The same, if the flag is set.
        case kernelWhenSet
    }
}

/// One word of `-o`.
package struct OptionWord: Sendable {
    package let name: String
    package let form: Form
    let apply: @Sendable (inout MountOptions, String) throws(RefusedValue) -> Void

    package enum Form: Sendable, Hashable {
        /// It stands alone.
        case alone
        /// A value follows: one of these, or another, as an error message calls it.
        case valued(words: [String], other: String?)
        /// Any word that begins so.
        case prefix
    }

    /// As documents and completions have it.
    package var texts: [String] {
        switch form {
        case .alone: [name]
        case .valued(let words, let other): words.map { "\(name)=\($0)" } + (other == nil ? [] : ["\(name)="])
        case .prefix: ["\(name)*"]
        }
    }
}

/// A value that an option does not take.
struct RefusedValue: Error {
    var value: String
    /// What would be right.
    var expected: [String]
}

/// A flag of a mount that the kernel keeps.
package struct KernelFlag: Sendable {
    /// As mount(2) takes it.
    package let bit: UInt64
    package let set: String
    /// nil if no word clears it.
    package let cleared: String?
}
