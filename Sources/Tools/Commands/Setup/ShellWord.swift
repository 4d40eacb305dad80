import ACLFormats

/// A path as a word of a shell's command line: other users choose names, and a remedy is pasted by root.
func shellWord(_ path: String) -> String {
    let shown = escapedName(path.utf8)
    let isPlain = shown.utf8.allSatisfy {
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ","): true
        default: $0 >= 0x80
        }
    }
    return isPlain ? shown : "'" + shown.replacing("'", with: #"'\''"#) + "'"
}
