import Foundation
import Glibc
import TestSupport
import Testing

/// Whether a program is there for the users of the tests.
func isInstalled(_ program: String) -> Bool {
    (try? TestUser.alice.shell("command -v \(program) >/dev/null"))?.status == 0
}

/// The same work of an ordinary user in a directory of the file system below and in one of the mount.
final class RealTree {
    let fixture: MountFixture
    /// Alice's; on the file system that also holds the backing directory, and on the mount.
    let native: String
    let place: String
    /// C sources in a tar file that everybody may read: those of the programs that these tests are made with.
    var sources: String { fixture.top + "/sources.tar" }

    init(options: String = "") throws {
        fixture = try MountFixture(options: options)
        native = fixture.top + "/native"
        place = fixture.path("alice")
        let script = """
            mkdir "\(native)" "\(place)" && chown 501:20 "\(native)" "\(place)"
            tar -C "\(Repository.tests.path)" --owner=501 --group=20 -cf "\(sources)" ActAs RaceClient && chmod 644 "\(sources)"
            """
        let result = try Spawn.run(["sh", "-c", script])
        guard result.status == 0 else { throw FixtureError("\(result)") }
    }

    /// Runs the script in both directories, whose path is `$D`, and expects it to succeed and to say the same.
    /// What it says must have `part` in it: a script that does nothing proves nothing.
    @discardableResult
    func expectSame(
        _ script: String, saying part: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        var outputs: [String] = []
        for directory in [native, place] {
            let result = try TestUser.alice.run("bash", "-c", Self.prelude + script, "script", directory, sources)
            #expect(result.status == 0 && result.output.contains(part), "in \(directory): \(result)", sourceLocation: sourceLocation)
            outputs.append(result.output.replacingOccurrences(of: directory, with: "$D"))
        }
        #expect(outputs[0] == outputs[1], sourceLocation: sourceLocation)
        return outputs[1]
    }

    private static let prelude = #"""
        set -eu -o pipefail
        D=$1; SOURCES=$2; cd "$D"
        export HOME=$D LC_ALL=C TZ=UTC GIT_CONFIG_NOSYSTEM=1
        umask 022
        # Names, kinds, modes, owners, links and contents of all that is below.
        tree() {
            (cd "$1"; find . -printf '%P %y %m %U:%G %l\n' | sort; find . -type f -exec sha256sum {} + | sort -k2)
        }

        """#
}
