import Authorization

/// - Returns: the first ten characters of a line of `ls -l`.
func modeText(kind: ObjectKind, mode: UInt16) -> String {
    let type =
        switch kind {
        case .file: "-"
        case .directory: "d"
        case .symlink: "l"
        case .fifo: "p"
        case .socket: "s"
        case .characterDevice: "c"
        case .blockDevice: "b"
        }
    func triple(_ shift: UInt16, special: Bool, _ letters: (with: String, without: String)) -> String {
        let bits = mode >> shift
        let execute = bits & 1 != 0
        let last = special ? (execute ? letters.with : letters.without) : (execute ? "x" : "-")
        return (bits & 4 != 0 ? "r" : "-") + (bits & 2 != 0 ? "w" : "-") + last
    }
    return type + triple(6, special: mode & 0o4000 != 0, ("s", "S"))
        + triple(3, special: mode & 0o2000 != 0, ("s", "S"))
        + triple(0, special: mode & 0o1000 != 0, ("t", "T"))
}

func octal(_ value: UInt32, width: Int = 0) -> String {
    let digits = String(value, radix: 8)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}
