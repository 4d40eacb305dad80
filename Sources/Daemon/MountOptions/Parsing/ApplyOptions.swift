extension MountOptions {
    /// Parses one comma-separated list; later words win over earlier ones.
    /// - Throws: `MountOptionError` naming the word and its nearest right spelling.
    public mutating func apply(_ text: String) throws(MountOptionError) {
        for word in try MountOptionText.split(text) where !word.isEmpty { try applyWord(word) }
    }

    private mutating func applyWord(_ text: String) throws(MountOptionError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let value = parts.count == 2 ? String(parts[1]) : nil
        let other = OptionTable.other(name)
        if let other, other.kind == .ignored {
            try apply(other.word, "")
            return
        }
        if let word = value == nil ? OptionTable.alone(name) : OptionTable.valued(name) {
            try apply(word, value ?? "")
        } else if let other {
            try apply(name, value, of: other.kind)
        } else if name.hasPrefix("-"), value == nil, !maskedKernelFeatures.isEmpty,
            let word = OptionTable.valued(OptionRow.kernelFeaturesName)
        {
            // The commas in `kernel_features=-epoch,-statx` separate its values, not options.
            try apply(word, name)
        } else if let value, OptionTable.alone(name) != nil {
            throw .takesNoValue(name, value)
        } else if value == nil, OptionTable.valued(name) != nil {
            throw .needsValue(name)
        } else {
            throw .unknown(name)
        }
        given.append(text)
    }

    private mutating func apply(_ word: OptionWord, _ value: String) throws(MountOptionError) {
        do throws(RefusedValue) { try word.apply(&self, value) } catch { throw .wrongValue(word.name, error) }
    }

    /// Handles a name that belongs to no setting.
    private func apply(_ name: String, _ value: String?, of kind: OptionRow.Kind) throws(MountOptionError) {
        switch kind {
        case .refused(let reason):
            if let value { throw .takesNoValue(name, value) }
            throw .refused(name, because: reason)
        case .unavailable: throw .unavailable(value.map { "\(name)=\($0)" } ?? name)
        case .setting, .ignored: return
        }
    }
}
