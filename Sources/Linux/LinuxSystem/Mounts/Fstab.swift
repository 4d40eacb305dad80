/// What /etc/fstab says (fstab(5)).
public enum Fstab {
    /// The source that a mount point of aclfs shows once it is mounted.
    /// - Parameters:
    ///   - mountpoint: its path, without a slash at the end.
    ///   - text: of the file; nil: the system's, as far as it can be read.
    /// - Returns: nil if no line has it as a mount point of aclfs.
    public static func source(of mountpoint: [UInt8], in text: [UInt8]? = nil) -> [UInt8]? {
        let text = text ?? (try? Syscall.readAll(path: "/etc/fstab", limit: 1 << 20)) ?? []
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard fields.count >= 3, fields[0].first != UInt8(ascii: "#"), withoutSlash(MountInfo.unescaped(fields[1])) == mountpoint
            else { continue }
            let source = withoutSlash(MountInfo.unescaped(fields[0]))
            switch String(decoding: fields[2], as: UTF8.self) {
            case "aclfs", "fuse.aclfs": return source
            case "fuse" where source.starts(with: "aclfs#".utf8): return Array(source.dropFirst("aclfs#".utf8.count))
            default: continue
            }
        }
        return nil
    }

    private static func withoutSlash(_ path: [UInt8]) -> [UInt8] {
        path.count > 1 && path.last == UInt8(ascii: "/") ? path.dropLast() : path
    }
}
