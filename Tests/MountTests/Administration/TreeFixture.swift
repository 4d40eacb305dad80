import Foundation
import Glibc
import TestSupport
import Testing

/// A tree that commands change, on a mount or as a backing directory.
final class TreeFixture {
    enum Place: String, CaseIterable, CustomTestStringConvertible {
        case mount
        case backing
        var testDescription: String { rawValue }
    }

    /// It ends first: its mounts are in the namespace.
    let fixture: MountFixture
    /// A mount namespace with control sockets of its own: daemons of other tests may hang.
    private let accounts: PrivateAccounts
    var within: [String] { accounts.within }
    var backing: String { fixture.backing }
    var undo: String { fixture.top + "/changes.undo" }
    /// Where the commands find the tree.
    private var place = Place.mount

    init(options: String? = nil) throws {
        accounts = try PrivateAccounts(users: [:], groups: [:])
        fixture = try MountFixture(options: nil, within: accounts.within)
        _ = try Spawn.run(within + ["sh", "-c", "mkdir -p /run/aclfs && mount -t tmpfs -o mode=755 none /run/aclfs"])
        if let options { try fixture.mount(options) }
    }

    /// Where a command finds the tree, after the mount was made or ended.
    func go(to place: Place) throws -> String {
        self.place = place
        let isMounted = try Spawn.run(within + ["mountpoint", "-q", fixture.mountpoint]).status == 0
        switch place {
        case .mount:
            if !isMounted { try fixture.mount() }
            return fixture.mountpoint
        case .backing:
            if isMounted { try fixture.unmount() }
            return backing
        }
    }

    /// Runs a script as root.
    @discardableResult
    func shell(_ script: String, in directory: String? = nil) throws -> CommandResult {
        let head =
            """
            cd '\(directory ?? fixture.mountpoint)' && umask 022 && export LC_ALL=C TZ=UTC
            aclfs() {
                if [ \(place) = backing ]; then
                    case $1 in
                        propagate | inherit | explicit | strip | copy-mode | report | chmod) set -- "$1" --offline "${@:2}" ;;
                        preset | acl) set -- "$1" "$2" --offline "${@:3}" ;;
                    esac
                fi
                '\(MountTesting.program("aclfs"))' "$@"
            }

            """
        return try Spawn.run(within + ["bash", "-uc", head + script])
    }

    /// Without a mount, a command goes on only if it is told so.
    private func words(_ words: [String]) -> [String] {
        guard place == .backing, let command = words.first else { return words }
        switch command {
        case "propagate", "inherit", "explicit", "strip", "copy-mode", "report", "chmod":
            return [command, "--offline"] + words.dropFirst()
        case "preset", "acl": return words.prefix(2) + ["--offline"] + words.dropFirst(2)
        default: return words
        }
    }

    func aclfs(_ words: String...) throws -> CommandResult { try aclfs(words) }
    func aclfs(_ words: [String]) throws -> CommandResult {
        try Spawn.run(within + [MountTesting.program("aclfs")] + self.words(words))
    }

    /// As a user of the mount.
    func aclfs(as user: TestUser, _ words: String...) throws -> CommandResult {
        try Spawn.run(within + user.arguments + ["--", MountTesting.program("aclfs")] + self.words(words))
    }

    /// Every byte that the commands may change, as the backing directory has it.
    func snapshot() throws -> String {
        try shell(
            """
            find . -printf '%p %m %U %G %n %l\\n' | sort
            find . | sort | tr '\\n' '\\0' | xargs -0 getfattr -hdm- -e hex 2>&1
            """, in: backing
        ).output
    }
}
