import Glibc

/// A version of the kernel, as in uname(2).
public struct KernelRelease: Comparable, Sendable {
    public var major: Int
    public var minor: Int

    public init(_ major: Int, _ minor: Int) { (self.major, self.minor) = (major, minor) }

    /// Reads a text like "6.18.44-cloud"; anything but a number counts as 0.
    public init(text: String) {
        let numbers = text.split(separator: ".", maxSplits: 2).map { part in Int(part.prefix { $0.isNumber }) ?? 0 }
        self.init(numbers.first ?? 0, numbers.dropFirst().first ?? 0)
    }

    public static let running: KernelRelease = {
        var names = utsname()
        guard uname(&names) == 0 else { return KernelRelease(0, 0) }
        return withUnsafeBytes(of: &names.release) { bytes in
            KernelRelease(text: String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
    }()

    public static func < (left: KernelRelease, right: KernelRelease) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}
