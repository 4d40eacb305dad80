import FuseSession
import LinuxSystem

extension EmptyReply {
    consuming func send(_ result: Result<Void, Errno>) {
        switch result {
        case .success: answer()
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension AttributeReply {
    consuming func send(_ result: Result<AttributeAnswer, Errno>) {
        switch result {
        case .success(let answered): answer(answered.attributes, validFor: answered.validFor)
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension XattrReply {
    consuming func send(_ result: Result<[UInt8], Errno>) {
        switch result {
        case .success(let bytes): answer(bytes.span.bytes)
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension LinkTargetReply {
    consuming func send(_ result: Result<[UInt8], Errno>) {
        switch result {
        case .success(let bytes): answer(bytes.span.bytes)
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension IoctlReply {
    consuming func send(_ result: Result<[UInt8], Errno>) {
        switch result {
        case .success(let bytes): answer(output: bytes.span.bytes)
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension WriteReply {
    consuming func send(_ result: Result<Int, Errno>) {
        switch result {
        case .success(let count): answer(written: UInt64(count))
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension OffsetReply {
    consuming func send(_ result: Result<Int64, Errno>) {
        switch result {
        case .success(let offset): answer(offset)
        case .failure(let error): fail(error.rawValue)
        }
    }
}

extension StatfsReply {
    consuming func send(_ result: Result<FileSystemStatistics, Errno>) {
        switch result {
        case .success(let statistics): answer(statistics)
        case .failure(let error): fail(error.rawValue)
        }
    }
}
