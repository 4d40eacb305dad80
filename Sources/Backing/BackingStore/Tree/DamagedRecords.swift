import ACLFormats
import LinuxSystem

/// Why an object's record is not available.
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

/// Reports each object with an unavailable record, once for each state of the object, so that a caller who repeats a call cannot
/// fill the log (docs/decisions/0002-fail-closed-records.md).
final class DamagedRecords: Sendable {
    private let reported = Lock<[ObjectKey: Timespec]>([:])
    private let limit = 1024
    private let metadataName: String
    private let report: @Sendable (String) -> Void

    init(metadataName: String, report: @escaping @Sendable (String) -> Void) {
        (self.metadataName, self.report) = (metadataName, report)
    }

    func note(_ problem: RecordProblem, of key: ObjectKey, at ctime: Timespec, _ descriptor: SharedDescriptor) {
        let (isNew, isLast) = reported.withLock { reported in
            // Beyond the limit new objects are not reported; one line says so.
            if reported[key] == ctime || (reported[key] == nil && reported.count >= limit) { return (false, false) }
            reported[key] = ctime
            return (true, reported.count == limit)
        }
        guard isNew else { return }
        report(
            "\(name(of: descriptor)): record in \(metadataName): \(problem.message); every access to it is refused "
                + "(EIO) until the record is restored, or removed with setfattr -x \(metadataName)")
        if isLast { report("\(limit) objects with such records; of more nothing is reported") }
    }

    /// The object's path, if the kernel knows one.
    private func name(of descriptor: SharedDescriptor) -> String {
        let link = "/proc/self/fd/\(descriptor.rawValue)"
        // With an absolute path the directory is ignored.
        guard let target = try? Syscall.readlinkat(descriptor.rawValue, link) else { return "an object" }
        return String(decoding: target, as: UTF8.self)
    }
}
