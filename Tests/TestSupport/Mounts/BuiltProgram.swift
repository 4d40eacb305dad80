import Foundation
import Glibc

/// Programs of this package.
public enum BuiltProgram {
    /// - Returns: the path of a program that was built with the tests; of `aclfs` the one that ACLFS_PROGRAM names, if any;
    ///   of `aclfsd` the one beside that.
    public static func path(_ name: String) -> String {
        if name == "aclfs" || name == "aclfsd", let given = ProcessInfo.processInfo.environment["ACLFS_PROGRAM"] {
            return URL(fileURLWithPath: given).deletingLastPathComponent().appendingPathComponent(name).path
        }
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let bundle = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }
}
