// docs/reference/authorization.md 1.1: the words of rights, and the sets the text names.

/// 1.1: a right has one bit with a file word and a directory word; here the file word stands for both.
func rightWord(_ word: String) -> String {
    switch word {
    case "list": "read"
    case "add_file": "write"
    case "search": "execute"
    case "add_subdirectory": "append"
    default: word
    }
}

/// 1.1: the rights an entry names, generic bits expanded.
func expandedRights(_ words: Set<String>) -> Set<String> {
    var rights: Set<String> = []
    for word in words {
        switch word {
        case "generic_read":
            rights.formUnion(genericRead)
        case "generic_write":
            rights.formUnion(genericWrite)
        case "generic_execute":
            rights.formUnion(genericExecute)
        case "generic_all":
            rights.formUnion(genericRead)
            rights.formUnion(genericWrite)
            rights.formUnion(genericExecute)
        default:
            rights.insert(rightWord(word))
        }
    }
    return rights
}

let genericRead: Set<String> = ["read", "readattr", "readextattr", "readsecurity"]
let genericWrite: Set<String> = [
    "write", "append", "delete", "delete_child", "writeattr", "writeextattr", "writesecurity",
]
let genericExecute: Set<String> = ["execute"]

/// 1.1, "Write rights".
let writeRights: Set<String> = [
    "write", "append", "delete", "delete_child", "writeattr", "writeextattr", "writesecurity", "chown",
    "link_target", "check_immutable",
]

/// 1.1, "Append-compatible on a non-directory" (besides every right that is not a write right).
let appendCompatibleOnFile: Set<String> = ["append", "writeextattr"]
/// 1.1, "Append-compatible on a directory".
let appendCompatibleOnDirectory: Set<String> = ["write", "append", "writeextattr"]

/// 3.1 rule 1 and 3.8: nodes whose data is not on the volume.
func isSpecial(_ type: String) -> Bool {
    type == "fifo" || type == "socket" || type == "chr" || type == "blk"
}

/// 3.8: may these rights be exercised on an object of this type that carries these flags?
func flagsRefuse(_ rights: Set<String>, type: String, flags: Set<String>) -> Bool {
    // Q12: SF_NOUNLINK refuses delete and rename of the item.
    if flags.contains("sunlnk") && rights.contains("delete") { return true }
    var judged = rights.intersection(writeRights)
    // 3.8, column "Immutable FIFO, socket, device": write is not considered.
    if isSpecial(type) { judged.remove("write") }
    if judged.isEmpty { return false }
    // 3.8, column "Immutable".
    if flags.contains("uchg") || flags.contains("schg") { return true }
    // 3.8, columns "Append-only": one incompatible right makes the whole request incompatible.
    if flags.contains("uappnd") || flags.contains("sappnd") {
        let compatible = type == "dir" ? appendCompatibleOnDirectory : appendCompatibleOnFile
        return !judged.isSubset(of: compatible)
    }
    return false
}
