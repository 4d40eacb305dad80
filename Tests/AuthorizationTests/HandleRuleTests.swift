import Authorization
import Testing

/// docs/reference/authorization.md 2.2 (ftruncate, write) and 2.4 (fallocate): the handle's mode and the object's flags.
@Suite struct HandleRuleTests {
    private func code(
        _ operation: HandleOperation, _ mode: HandleMode, _ flags: FileFlags = []
    ) -> DenialCode? {
        authorize(operation, through: mode, flags: flags).denial
    }

    @Test func modeOfTheHandleCounts() {
        #expect(code(.read, .writable) == .EBADF)
        #expect(code(.read, .readable) == nil)
        #expect(code(.write(addsAtEnd: false), .readable) == .EBADF)
        #expect(code(.truncate, .readable) == .EINVAL)
        #expect(code(.allocate(addsBeyondEnd: true), .readable) == .EBADF)
    }

    @Test func appendOnlyHandlesOnlyAdd() {
        let handle: HandleMode = [.writable, .appendOnly]
        #expect(code(.write(addsAtEnd: true), handle) == nil)
        #expect(code(.write(addsAtEnd: false), handle) == .EPERM)
        #expect(code(.truncate, handle) == .EPERM)
        #expect(code(.allocate(addsBeyondEnd: true), handle) == nil)
        #expect(code(.allocate(addsBeyondEnd: false), handle) == .EPERM)
    }

    @Test func flagsBindTruncationAndAllocation() {
        for flag in [FileFlags.userAppend, .systemAppend] {
            #expect(code(.truncate, .writable, flag) == .EPERM)
            #expect(code(.allocate(addsBeyondEnd: false), .writable, flag) == .EPERM)
            #expect(code(.allocate(addsBeyondEnd: true), .writable, flag) == nil)
        }
        for flag in [FileFlags.userImmutable, .systemImmutable] {
            #expect(code(.allocate(addsBeyondEnd: true), .writable, flag) == .EPERM)
        }
    }

    /// docs/reference/authorization.md Q4
    @Test func touchingWhatWasGivenAway() {
        #expect(code(.touch, .writable) == nil)
        #expect(code(.touch, .readable) == .EBADF)
        for flag in [FileFlags.userAppend, .systemAppend, .userImmutable, .systemImmutable] {
            #expect(code(.touch, .writable, flag) == .EPERM)
        }
    }

    @Test func aFlagSetLaterDoesNotBindWrites() {
        #expect(code(.write(addsAtEnd: false), .writable, .userAppend) == nil)
    }
}
