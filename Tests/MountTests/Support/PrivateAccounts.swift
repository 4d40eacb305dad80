import ACLFormats
import Authorization
import Foundation
import Glibc
import TestSupport

/// A mount namespace with users and groups of its own, in which aclfs and the users of a test run. The machine's
/// accounts stay as they are, and what hangs here hangs nothing else.
final class PrivateAccounts: IdentityNames {
    struct Group {
        var name: String
        var members: [String]
    }

    private(set) var users: [String: UInt32]
    private(set) var groups: [UInt32: Group]
    private let directory: ScratchDirectory
    private var top: String { directory.path }
    private let holder: pid_t

    /// What stands before a command that shall run inside.
    var within: [String] { ["nsenter", "--mount=/proc/\(holder)/ns/mnt", "--"] }

    init(users: [String: UInt32], groups: [UInt32: Group]) throws {
        directory = try ScratchDirectory("accounts")
        let top = directory.path
        (self.users, self.groups) = (users, groups)
        let passwd = users.map { "\($0.key):x:\($0.value):\($0.value)::/:/bin/sh\n" }.sorted().joined()
        try Self.write("root:x:0:0:root:/root:/bin/sh\n" + passwd, to: top + "/passwd")
        try Self.write(Self.text(groups), to: top + "/group")
        mkfifo(top + "/fifo", 0o644)
        let ready = try Spawn.pipe()
        defer { close(ready.reading) }
        let script = """
            mount --bind \(top)/passwd /etc/passwd && mount --bind \(top)/group /etc/group && echo ready
            exec sleep 900 >/dev/null
            """
        holder = try Spawn.start(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script], descriptors: [-1, ready.writing, 2])
        close(ready.writing)
        var word = [UInt8](repeating: 0, count: 6)
        guard read(ready.reading, &word, 6) == 6 else { throw FixtureError("no mount namespace with its own accounts") }
    }

    deinit {
        kill(holder, SIGKILL)
        _ = Spawn.wait(holder)
    }

    /// Who is in a group from now on; the processes that run keep the groups that they have.
    func setMembers(_ members: [String], of gid: UInt32) throws {
        groups[gid]?.members = members
        try Self.write(Self.text(groups), to: top + "/group")
    }

    /// From now on whoever reads the group database waits, as for a server that is gone.
    func hang() throws {
        let result = try Spawn.run(within + ["mount", "--bind", top + "/fifo", "/etc/group"])
        guard result.status == 0 else { throw FixtureError("cannot make the groups hang: \(result)") }
    }

    /// From now on a service stands last in the list that cannot be asked: Hesiod without a configuration.
    func addBrokenService() throws {
        let switchFile = try String(contentsOfFile: "/etc/nsswitch.conf", encoding: .utf8)
        let lines = switchFile.split(separator: "\n").map { line in
            line.hasPrefix("group:") ? "group: files hesiod" : String(line)
        }
        try Self.write(lines.joined(separator: "\n") + "\n", to: top + "/nsswitch.conf")
        let result = try Spawn.run(within + ["mount", "--bind", top + "/nsswitch.conf", "/etc/nsswitch.conf"])
        guard result.status == 0 else { throw FixtureError("cannot add a service: \(result)") }
    }

    /// The database is back, and whoever waits reads an empty one.
    func recover() throws {
        let result = try Spawn.run(within + ["umount", "--lazy", "/etc/group"])
        guard result.status == 0 else { throw FixtureError("cannot bring the groups back: \(result)") }
        // Those that wait come one after the other.
        for _ in 0..<100 {
            let writer = open(top + "/fifo", O_WRONLY | O_NONBLOCK)
            if writer >= 0 { close(writer) }
            usleep(5000)
        }
    }

    /// In place: the bind mount holds on to the file.
    private static func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT, 0o644)
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard file >= 0, pwrite(file, bytes, bytes.count, 0) == bytes.count, ftruncate(file, bytes.count) == 0 else {
            throw FixtureError("cannot write \(path): errno \(errno)")
        }
    }

    private static func text(_ groups: [UInt32: Group]) -> String {
        groups.map { "\($0.value.name):x:\($0.key):\($0.value.members.joined(separator: ","))\n" }.sorted().joined()
    }

    // MARK: Names, as aclfs inside finds them

    func identity(named name: String, kind: IdentityKind?) -> GUID? {
        if kind != .group, let uid = name == "root" ? 0 : users[name] { return GUID(user: uid) }
        if kind != .user, let gid = groups.first(where: { $0.value.name == name })?.key { return GUID(group: gid) }
        return nil
    }
    func name(of identity: GUID) -> IdentityName? { nil }
}

extension PrivateAccounts {
    /// The directory service of the vectors; nested groups are resolved, as a service does it.
    convenience init(vectors: [UInt32: VectorGroup]) throws {
        var users: [String: UInt32] = [:]
        var groups: [UInt32: Group] = [:]
        for (gid, group) in vectors {
            var members: [String] = []
            for uid in Self.members(of: gid, vectors).sorted() {
                let name = uid == 0 ? "root" : "user\(uid)"
                if uid != 0 { users[name] = uid }
                members.append(name)
            }
            groups[gid] = Group(name: group.name, members: members)
        }
        try self.init(users: users, groups: groups)
    }

    private static func members(of gid: UInt32, _ vectors: [UInt32: VectorGroup]) -> Set<UInt32> {
        guard let group = vectors[gid] else { return [] }
        return group.groups.reduce(Set(group.users)) { $0.union(members(of: $1, vectors)) }
    }
}
