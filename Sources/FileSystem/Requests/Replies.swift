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

/// What a request asks for, and how it is sent.
protocol Outcome {
    associatedtype Value
    static func send(_ value: Value, _ reply: consuming Reply<Self>)
}

extension Reply: OutcomeReply where Answer: Outcome {
    consuming func send(_ value: Answer.Value) { Answer.send(value, self) }
}

extension NoResult: Outcome {
    static func send(_: Void, _ reply: consuming EmptyReply) { reply.answer() }
}

extension ObjectAttributes: Outcome {
    static func send(_ answer: AttributeAnswer, _ reply: consuming AttributeReply) {
        reply.answer(answer.attributes, validFor: answer.validFor)
    }
}

extension LinkTarget: Outcome {
    static func send(_ bytes: [UInt8], _ reply: consuming LinkTargetReply) { reply.answer(bytes.span.bytes) }
}

extension IoctlOutput: Outcome {
    static func send(_ bytes: [UInt8], _ reply: consuming IoctlReply) { reply.answer(output: bytes.span.bytes) }
}

extension WrittenCount: Outcome {
    static func send(_ count: Int, _ reply: consuming WriteReply) { reply.answer(written: UInt64(count)) }
}

extension FileOffset: Outcome {
    static func send(_ offset: Int64, _ reply: consuming OffsetReply) { reply.answer(offset) }
}

extension FileSystemStatistics: Outcome {
    static func send(_ statistics: FileSystemStatistics, _ reply: consuming StatfsReply) { reply.answer(statistics) }
}

extension XattrReply: OutcomeReply {
    consuming func send(_ bytes: [UInt8]) { answer(bytes.span.bytes) }
}
