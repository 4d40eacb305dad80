import TestSupport
import Testing

/// chattr, lsattr and bsdtar on a mount: what of the BSD flags their own flags say.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct FlagProgramsTests {
    private static let hasBsdtar = (try? Spawn.run(["sh", "-c", "command -v bsdtar"]))?.status == 0

    private func shell(_ script: String, in fixture: MountFixture, as user: TestUser = .root) throws -> String {
        let prelude = """
            cd \(fixture.mountpoint); A=\(MountTesting.program("aclfs"))
            flags() { $A ls -lO "$@" | awk 'NF > 8 { print $5 }'; }

            """
        return try Spawn.run(user.arguments + ["--", "bash", "-uc", prelude + script]).output
    }

    @Test func chattrSetsTheFlagsOfTheSuperuser() throws {
        let fixture = try MountFixture()
        let said = try shell(
            """
            touch i a d; chattr +i i; chattr +a a; chattr +d d; flags a d i
            lsattr -l a d i | tr -s ' '
            chattr -i i; chattr -a a; chattr -d d; flags a d i
            """, in: fixture)
        #expect(
            said.split(separator: "\n").map { String($0) } == [
                "sappnd", "nodump", "schg", "a Append_Only", "d No_Dump", "i Immutable", "-", "-", "-",
            ])
    }

    /// The owner's flags are shown too, because they bind; chattr does not clear them.
    @Test func ownersFlagsAreShownAndStay() throws {
        let fixture = try MountFixture()
        let said = try shell(
            """
            touch u; $A chflags uchg u; lsattr u | cut -c5; chattr -i u 2>/dev/null; echo $?; flags u
            $A chflags nouchg u; $A chflags uappnd u; lsattr u | cut -c6; chattr -a u 2>/dev/null; echo $?; flags u; $A chflags 0 u
            """, in: fixture)
        #expect(said.split(separator: "\n").map { String($0) } == ["i", "1", "uchg", "a", "1", "uappnd"])
    }

    @Test func onlyRootSetsThem() throws {
        let fixture = try MountFixture()
        _ = try shell("touch f; chown 501:501 f", in: fixture)
        let said = try shell(
            "chattr +i f 2>/dev/null; echo $?; chattr +a f 2>/dev/null; echo $?; chattr +d f; echo $?; flags f", in: fixture, as: .alice)
        #expect(said == "1\n1\n0\nnodump")
        let others = try shell("chattr -d f 2>/dev/null; echo $?; flags f", in: fixture, as: .bob)
        #expect(others == "1\nnodump")
    }

    /// bsdtar has one flag for the owner's and the superuser's, so it restores the stricter one.
    @Test(.enabled(if: hasBsdtar, "needs bsdtar"))
    func bsdtarKeepsWhatItsFormatHas() throws {
        let fixture = try MountFixture()
        let said = try shell(
            """
            touch i a d u; $A chflags schg i; $A chflags sappnd a; $A chflags nodump d; $A chflags uchg u; mkdir out
            bsdtar --fflags -cf - a d i u | bsdtar --fflags -xpf - -C out; flags out/a out/d out/i out/u
            bsdtar --nodump -cf - a d i u | bsdtar -tf -
            $A chflags 0 a d i u out/*
            """, in: fixture)
        #expect(said.split(separator: "\n").map { String($0) } == ["sappnd", "nodump", "schg", "schg", "a", "i", "u"])
    }
}
