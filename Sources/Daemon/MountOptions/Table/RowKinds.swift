/// The setting that a row is about.
typealias Setting<Value> = WritableKeyPath<MountOptions, Value> & Sendable

extension OptionRow {
    /// A setting with a word for each of its values. For `name=a|b` use `value` with an enum.
    /// - Parameters:
    ///   - words: `name`, or `name=value` for a word with a fixed value. Of several that say the same the first one is written. At most one
    ///     has a value for each name, because the parser finds only the first.
    ///   - kernel: the flag, and the value with which it is set.
    static func choice<Value: Equatable & Sendable>(
        _ words: KeyValuePairs<String, Value>, _ setting: any Setting<Value>, subject: Subject = .mount,
        kernel: (flag: UInt64, isSetBy: Value)? = nil, remount: RemountRule = .fixed, shown: Shown = .always, _ meaning: String
    ) -> OptionRow {
        let words = Array(words)
        return OptionRow(
            kind: .setting,
            words: words.map { word, value in
                let parts = word.split(separator: "=", maxSplits: 1).map { String($0) }
                guard parts.count == 2 else {
                    return OptionWord(name: word, form: .alone) { (options, _) throws(RefusedValue) in options[keyPath: setting] = value }
                }
                return OptionWord(name: parts[0], form: .valued(words: [parts[1]], other: nil)) { (options, text) throws(RefusedValue) in
                    guard text == parts[1] else { throw RefusedValue(value: text, expected: [parts[1]]) }
                    options[keyPath: setting] = value
                }
            },
            meaning: meaning, subject: subject,
            kernelFlag: kernel.flatMap { flag, isSetBy in
                guard let set = words.first(where: { $0.value == isSetBy })?.key else { return nil }
                return KernelFlag(bit: flag, set: set, cleared: words.first { $0.value != isSetBy }?.key)
            },
            remount: remount, shown: shown, inForce: { options in words.first { $0.value == options[keyPath: setting] }?.key })
    }

    /// A setting whose word is `name=value`.
    static func value<Value>(
        _ name: String, _ setting: any Setting<Value>, _ form: ValueForm<Value>, subject: Subject = .mount,
        remount: RemountRule = .fixed, shown: Shown = .always, when isInForce: @escaping @Sendable (MountOptions) -> Bool = { _ in true },
        _ meaning: String
    ) -> OptionRow {
        OptionRow(
            kind: .setting,
            words: [
                OptionWord(name: name, form: .valued(words: form.words, other: form.other)) { (options, text) throws(RefusedValue) in
                    guard let value = form.read(text) else { throw RefusedValue(value: text, expected: form.expected) }
                    options[keyPath: setting] = value
                }
            ],
            meaning: meaning, subject: subject, kernelFlag: nil, remount: remount, shown: shown,
            inForce: { options in isInForce(options) ? form.write(options[keyPath: setting]).map { "\(name)=\($0)" } : nil })
    }

    /// The same, of a setting that may be absent.
    /// - Parameters:
    ///   - absent: the value that stands for its absence; nil if none does.
    ///   - alone: the value of the name without one; nil: it needs a value.
    static func optional<Value>(
        _ name: String, _ setting: any Setting<Value?>, _ form: ValueForm<Value>, absent: String? = nil, alone: Value? = nil,
        subject: Subject = .mount, when isInForce: @escaping @Sendable (MountOptions) -> Bool = { _ in true }, _ meaning: String
    ) -> OptionRow {
        let valued = value(name, setting, form.orAbsent(absent), subject: subject, when: isInForce, meaning)
        guard let alone else { return valued }
        let word = OptionWord(name: name, form: .alone) { (options, _) throws(RefusedValue) in options[keyPath: setting] = alone }
        return OptionRow(
            kind: valued.kind, words: [word] + valued.words, meaning: meaning, subject: subject, kernelFlag: nil, remount: valued.remount,
            shown: valued.shown, inForce: valued.inForce)
    }

    /// `kernel_features=-NAME,…`: each word hides more.
    static func kernelFeatures(_ meaning: String) -> OptionRow {
        let known = MountOptions.kernelFeatures.map { "-\($0)" }
        return OptionRow(
            kind: .setting,
            words: [
                OptionWord(name: kernelFeaturesName, form: .valued(words: known, other: nil)) { (options, text) throws(RefusedValue) in
                    for feature in text.split(whereSeparator: { $0 == "," || $0 == ":" }) {
                        guard known.contains(String(feature)) else { throw RefusedValue(value: String(feature), expected: known) }
                        options.maskedKernelFeatures.append(String(feature.dropFirst()))
                    }
                }
            ],
            meaning: meaning, subject: .mount, kernelFlag: nil, remount: .fixed, shown: .always,
            inForce: { options in
                let masked = Set(options.maskedKernelFeatures).sorted().map { "-\($0)" }
                return masked.isEmpty ? nil : "\(kernelFeaturesName)=\(masked.joined(separator: ":"))"
            })
    }

    static let kernelFeaturesName = "kernel_features"

    /// An option of SELinux's, which the kernel understands or refuses. It lets none of them change at a remount.
    static func securityContext(_ name: String, _ meaning: String) -> OptionRow {
        OptionRow(
            kind: .setting,
            words: [
                OptionWord(name: name, form: .valued(words: [], other: "a security context")) { (options, text) throws(RefusedValue) in
                    options.contexts.append("\(name)=\(text)")
                }
            ],
            meaning: meaning, subject: .kernel, kernelFlag: nil, remount: .fixed, shown: .never,
            inForce: { options in options.contexts.last { $0.hasPrefix("\(name)=") } })
    }

    /// - Parameter words: `name`, `name=` or `name*` for all that begin so.
    static func ignored(
        _ words: [String], _ meaning: String, apply: @escaping @Sendable (inout MountOptions) -> Void = { _ in }
    ) -> OptionRow {
        OptionRow(
            kind: .ignored,
            words: words.map { word in
                let form: OptionWord.Form =
                    switch word.last {
                    case "=": .valued(words: [], other: "anything")
                    case "*": .prefix
                    default: .alone
                    }
                return OptionWord(name: form == .alone ? word : String(word.dropLast()), form: form) { (options, _) throws(RefusedValue) in
                    apply(&options)
                }
            },
            meaning: meaning, subject: .mount, kernelFlag: nil, remount: .nothing, shown: .never, inForce: { _ in nil })
    }

    static func unavailable(_ name: String, _ meaning: String) -> OptionRow { withoutSetting(.unavailable, name, meaning) }

    static func refused(_ name: String, because reason: String, _ meaning: String) -> OptionRow {
        withoutSetting(.refused(reason: reason), name, meaning)
    }

    private static func withoutSetting(_ kind: Kind, _ name: String, _ meaning: String) -> OptionRow {
        OptionRow(
            kind: kind, words: [OptionWord(name: name, form: .alone) { (_, _) throws(RefusedValue) in }], meaning: meaning, subject: .mount,
            kernelFlag: nil, remount: .nothing, shown: .never, inForce: { _ in nil })
    }
}
