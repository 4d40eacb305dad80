import FuseSession
import LinuxSystem

/// A reply that sends what an operation returns, or its errno.
protocol OutcomeReply: ~Copyable {
    associatedtype Value
    consuming func send(_ value: Value)
    consuming func fail(_ errno: Int32)
}

extension OutcomeReply where Self: ~Copyable {
    /// Runs an operation and answers with its outcome.
    @inline(__always)
    consuming func send(_ operation: () throws(Errno) -> Value) {
        switch outcome(operation) {
        case .success(let value): send(value)
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension EmptyReply: OutcomeReply {
    consuming func send(_: Void) { answer() }
}

extension AttributeReply: OutcomeReply {
    consuming func send(_ answered: AttributeAnswer) { answer(answered.attributes, validFor: answered.validFor) }
}

extension XattrReply: OutcomeReply {
    consuming func send(_ bytes: [UInt8]) { answer(bytes.span.bytes) }
}

extension LinkTargetReply: OutcomeReply {
    consuming func send(_ bytes: [UInt8]) { answer(bytes.span.bytes) }
}

extension IoctlReply: OutcomeReply {
    consuming func send(_ bytes: [UInt8]) { answer(output: bytes.span.bytes) }
}

extension WriteReply: OutcomeReply {
    consuming func send(_ count: Int) { answer(written: UInt64(count)) }
}

extension OffsetReply: OutcomeReply {
    consuming func send(_ offset: Int64) { answer(offset) }
}

extension StatfsReply: OutcomeReply {
    consuming func send(_ statistics: FileSystemStatistics) { answer(statistics) }
}
