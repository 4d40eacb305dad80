extension Collection where Element == UInt8 {
    /// The names of a path, which are bytes: between any slashes, and none for `/` itself.
    public var pathNames: [[UInt8]] { split(separator: 0x2F).map { Array($0) } }
}

extension [[UInt8]] {
    /// Names as an absolute path, `/Users/ann`; nothing for none.
    public var joinedPath: [UInt8] { flatMap { [0x2F] + $0 } }
}
