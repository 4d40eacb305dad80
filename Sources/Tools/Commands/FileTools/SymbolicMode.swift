/// A mode argument of chmod(1): an octal number, or the symbolic grammar of POSIX.
package struct ModeChange: Sendable, Hashable {
    private enum Source: Sendable, Hashable {
        case bits(UInt16)
        /// `X`: execute for directories, and for files with an execute bit.
        case conditionalExecute(and: UInt16)
        /// `g=u`: the bits that another class has at this step.
        case copy(shift: UInt16)
    }
    private struct Step: Sendable, Hashable {
        var operation: UInt8
        /// The bits of the named classes, with their set-id bits.
        var who: UInt16
        /// Whether no class is named: then all, without the bits of the umask.
        var usesUmask: Bool
        var source: Source
    }
    private var absolute: UInt16?
    private var steps: [Step] = []

    /// `nil` if the text is no mode.
    package init?(_ text: [UInt8]) {
        if let first = text.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
            var value: UInt32 = 0
            for byte in text {
                guard (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(byte) else { return nil }
                value = value << 3 | UInt32(byte - UInt8(ascii: "0"))
                if value > 0o7777 { return nil }
            }
            absolute = UInt16(value)
            return
        }
        for clause in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard parse(clause) else { return nil }
        }
    }

    /// - Parameters:
    ///   - mode: the present mode of an object.
    ///   - isDirectory: whether the object is a directory.
    ///   - umask: of the caller.
    /// - Returns: the new mode.
    package func applied(to mode: UInt16, isDirectory: Bool, umask: UInt16) -> UInt16 {
        if let absolute { return absolute }
        let hadExecute = isDirectory || mode & 0o111 != 0
        return steps.reduce(mode & 0o7777) { mode, step in
            var bits: UInt16
            switch step.source {
            case .bits(let named): bits = named
            case .conditionalExecute(let others): bits = others | (hadExecute ? 0o111 : 0)
            case .copy(let shift): bits = (mode >> shift & 0o7) * 0o111
            }
            bits &= step.who
            if step.usesUmask { bits &= ~umask }
            switch step.operation {
            case UInt8(ascii: "+"): return mode | bits
            case UInt8(ascii: "-"): return mode & ~bits
            // `=` keeps the sticky bit unless the text has `t`: `who` contains it only then.
            default: return mode & ~step.who | bits
            }
        }
    }

    private mutating func parse(_ clause: ArraySlice<UInt8>) -> Bool {
        var rest = clause
        var who: UInt16 = 0
        while let letter = rest.first, let bits = Self.classBits(letter) {
            who |= bits
            rest = rest.dropFirst()
        }
        let usesUmask = who == 0
        if usesUmask { who = 0o6777 }
        guard !rest.isEmpty else { return false }
        while let operation = rest.first {
            guard operation == UInt8(ascii: "+") || operation == UInt8(ascii: "-") || operation == UInt8(ascii: "=")
            else { return false }
            rest = rest.dropFirst()
            if let letter = rest.first, let shift = Self.copyShift(letter) {
                rest = rest.dropFirst()
                steps.append(Step(operation: operation, who: who, usesUmask: usesUmask, source: .copy(shift: shift)))
                continue
            }
            var bits: UInt16 = 0
            var conditional = false
            var affected = who
            while let letter = rest.first, let permission = Self.permissionBits(letter) {
                if letter == UInt8(ascii: "X") { conditional = true }
                // The sticky bit belongs to no class. As on BSD "o+t" has no effect.
                if letter == UInt8(ascii: "t"), who & ~0o7 != 0 { affected |= 0o1000 }
                bits |= permission
                rest = rest.dropFirst()
            }
            steps.append(
                Step(
                    operation: operation, who: affected, usesUmask: usesUmask,
                    source: conditional ? .conditionalExecute(and: bits) : .bits(bits)))
        }
        return true
    }

    private static func classBits(_ letter: UInt8) -> UInt16? {
        switch letter {
        case UInt8(ascii: "u"): 0o4700
        case UInt8(ascii: "g"): 0o2070
        case UInt8(ascii: "o"): 0o0007
        case UInt8(ascii: "a"): 0o6777
        default: nil
        }
    }
    private static func copyShift(_ letter: UInt8) -> UInt16? {
        switch letter {
        case UInt8(ascii: "u"): 6
        case UInt8(ascii: "g"): 3
        case UInt8(ascii: "o"): 0
        default: nil
        }
    }
    private static func permissionBits(_ letter: UInt8) -> UInt16? {
        switch letter {
        case UInt8(ascii: "r"): 0o444
        case UInt8(ascii: "w"): 0o222
        case UInt8(ascii: "x"): 0o111
        case UInt8(ascii: "X"): 0
        case UInt8(ascii: "s"): 0o6000
        case UInt8(ascii: "t"): 0o1000
        default: nil
        }
    }
}
