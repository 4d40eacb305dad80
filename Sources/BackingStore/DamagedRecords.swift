import ACLFormats
import LinuxSystem

/// Why an object's record cannot be had.
enum RecordProblem: Error {
    case damaged(MetadataRecordError)
    case unreadable(Errno)

    var message: String {
        switch self {
        case .damaged(let error): error.message
        case .unreadable(let error): "cannot be read: \(error)"
        }
    }
}

/// Says of every object with a record that cannot be had that it is so, once for each state of the object: whoever
/// asks again and again must not fill the log (docs/decisions/0002-fail-closed-records.md).
final class DamagedRecords: Sendable {
    private let said = Lock<[ObjectKey: Timespec]>([:])
    private let limit = 1024
    private let metadataName: String
    private let report: @Sendable (String) -> Void

    init(metadataName: String, report: @escaping @Sendable (String) -> Void) {
        (self.metadataName, self.report) = (metadataName, report)
    }

    func note(_ problem: RecordProblem, of key: ObjectKey, at ctime: Timespec, _ descriptor: SharedDescriptor) {
        let (isNew, isLast) = said.withLock { said in
            // Beyond the limit nothing new is said; one line tells of that.
            if said[key] == ctime || (said[key] == nil && said.count >= limit) { return (false, false) }
            said[key] = ctime
            return (true, said.count == limit)
        }
        guard isNew else { return }
        report(
            "\(name(of: descriptor)): record in \(metadataName): \(problem.message); every access to it is refused "
                + "(EIO) until the record is restored, or removed with setfattr -x \(metadataName)")
        if isLast { report("\(limit) objects with such records; of more nothing is said") }
    }

    /// Its path, as far as the kernel knows one.
    private func name(of descriptor: SharedDescriptor) -> String {
        let link = "/proc/self/fd/\(descriptor.rawValue)"
        // The directory does not count for an absolute path.
        guard let target = try? Syscall.readlinkat(descriptor.rawValue, link) else { return "an object" }
        return String(decoding: target, as: UTF8.self)
    }
}
