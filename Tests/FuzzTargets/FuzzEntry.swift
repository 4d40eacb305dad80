import Glibc

private let target: FuzzTarget = {
    guard let name = getenv("ACLFS_FUZZ").map({ String(cString: $0) }), let target = FuzzTarget(rawValue: name) else {
        print("ACLFS_FUZZ has to name one of: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))")
        exit(2)
    }
    return target
}()

/// What libFuzzer calls with each input (Tests/Fuzzer). ACLFS_FUZZ names the target.
@_cdecl("aclfs_fuzz_one")
public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
