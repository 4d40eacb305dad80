import Authorization
import Testing

/// docs/reference/authorization.md 2.2, the rows on rename, and Q3.
@Suite struct RenameRuleTests {
    private let open = directory(0o777)

    @Test func directoryMustGrantAddSubdirectoryOnItselfEvenInPlace() {
        #expect(!decide(.rename, directory(0o555), in: open, by: stranger).isAllowed)
        #expect(decide(.rename, directory(0o777), in: open, by: stranger).isAllowed)
        #expect(decide(.rename, file(0), in: open, by: stranger).isAllowed)
    }

    /// Delete is settled by its own scan, and again counts in the scan of both (3.7).
    @Test func deleteAndAddSubdirectoryAreOneScan() {
        let moved = directory(
            0o777, ACE(.everyone, .allow, .delete), ACE(.everyone, .deny, .delete))
        #expect(decide(.removeDirectory, moved, in: open, by: stranger).isAllowed)
        #expect(decide(.rename, moved, in: open, by: stranger) == .deny(.EACCES, .entry(.object, 1)))
    }

    @Test func newDirectoryMustTakeTheName() {
        let closed = directory(0o755)
        #expect(decide(.rename, file(), in: open, to: closed, by: stranger) == .deny(.EACCES, .mode(.other, .targetParent)))
        let filesOnly = directory(0, ACE(.everyone, .allow, .addFile))
        #expect(decide(.rename, file(), in: open, to: filesOnly, by: stranger).isAllowed)
        #expect(!decide(.rename, directory(0o777), in: open, to: filesOnly, by: stranger).isAllowed)
    }

    @Test func replacedItemIsJudgedWithItsOwnDirectory() {
        let sticky = directory(0o1777)
        #expect(decide(.rename, file(), in: open, over: file(), to: sticky, by: stranger) == .deny(.EACCES, .sticky))
        #expect(decide(.rename, file(), in: open, over: file(owner: 502), to: sticky, by: stranger).isAllowed)
    }

    /// Q3: delete on the replaced directory, and add_subdirectory on the directory that holds it.
    @Test func replacedDirectoryMustBeRemovable() {
        let kept = directory(0, flags: [], ACE(.everyone, .deny, .delete))
        let decision = decide(.rename, directory(0o777), in: open, over: kept, to: open, by: stranger)
        #expect(decision == .deny(.EACCES, .entry(.target, 0)))
    }

    @Test func exchangeRemovesAndAddsOnBothSides() {
        let closed = directory(0o755)
        #expect(decide(.exchange, file(), in: open, over: file(), to: open, by: stranger).isAllowed)
        #expect(!decide(.exchange, file(), in: open, over: file(), to: closed, by: stranger).isAllowed)
        #expect(!decide(.exchange, file(), in: closed, over: file(), to: open, by: stranger).isAllowed)
        let dropOnly = directory(0, ACE(.everyone, .allow, .deleteChild))
        #expect(!decide(.exchange, file(), in: dropOnly, over: file(), to: open, by: stranger).isAllowed)
    }
}
