extension Collection where Element == UInt8 {
    /// The names of a path, as bytes; none for `/`.
    public var pathNames: [[UInt8]] { split(separator: 0x2F).map { Array($0) } }
}

extension [[UInt8]] {
    /// Names as an absolute path, `/Users/ann`; empty for none.
    public var joinedPath: [UInt8] { flatMap { [0x2F] + $0 } }
}
