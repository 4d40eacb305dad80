import Glibc

/// How many descriptors of this process lead to objects at or below a path; other tests that run in it have others. Removed
/// objects count, because the kernel still knows their path.
public func openDescriptors(below path: String) -> Int {
    guard let listing = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(listing) }
    let wanted = Array(path.utf8)
    var count = 0
    while let entry = readdir(listing) {
        let isThere = withUnsafeTemporaryAllocation(of: CChar.self, capacity: wanted.count) { buffer in
            guard let start = buffer.baseAddress else { return false }
            let length = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { readlinkat(dirfd(listing), $0, start, wanted.count) }
            }
            return length == wanted.count && zip(buffer, wanted).allSatisfy { UInt8(bitPattern: $0) == $1 }
        }
        if isThere { count += 1 }
    }
    return count
}
