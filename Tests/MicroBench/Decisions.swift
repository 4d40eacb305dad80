import Authorization

/// The evaluator as a request uses it: the question is built from facts that are there, and put.
///
/// The lists are read to their end: entries name what is asked, for groups that the caller is not in, and the last one
/// lets him.
enum Decisions {
    static let caller = KnownCredential(uid: 501, gid: 20, groups: [12, 61, 80, 98])
    static let owner = KnownCredential(uid: 500, gid: 20)
    static let root = KnownCredential(uid: 0, gid: 0)

    static func run(_ bench: inout Bench) {
        for (count, limit) in [(0, 40.0), (16, 120.0), (128, 800.0)] {
            let words = count == 0 ? "no ACL" : "\(count) entries"
            let objects = facts(.file, entries: count)
            bench.measure("open for reading, \(words), another user", limit: limit) {
                ask(.open(.read), objects[Int($0 & 3)], caller)
            }
            bench.measure("open for reading, \(words), the owner", limit: limit) {
                ask(.open(.read), objects[Int($0 & 3)], owner)
            }
            bench.measure("open for reading, \(words), root", limit: limit) {
                ask(.open(.read), objects[Int($0 & 3)], root)
            }
        }
        let directories = facts(.directory, entries: 16)
        bench.measure("search, 16 entries, another user", limit: 120) {
            ask(.lookup, directories[Int($0 & 3)], caller)
        }
        let plain = facts(.directory, entries: 0)
        let files = facts(.file, entries: 16)
        bench.measure("unlink, 16 entries on the file, another user") {
            let nodes = Nodes(object: files[Int($0 & 3)], parent: plain[Int($0 & 3)])
            return ask(.unlink, nodes, caller)
        }
        bench.measure("what everybody may do, 16 entries") {
            UInt64(universalRights(of: files[Int($0 & 3)], on: VolumeState()).rawValue)
        }
        let parents = [ACEFlags.fileInherit, [.fileInherit, .limitInherit]].map { acl(8, flags: $0) }
        bench.measure("inheritance of 8 entries") {
            let list = try? inheritedACL(from: parents[Int($0 & 1)], by: .file)
            return UInt64(list?.entries.count ?? 0)
        }
    }

    static func ask(_ operation: Operation, _ object: ObjectFacts, _ credential: KnownCredential) -> UInt64 {
        ask(operation, Nodes(object: object), credential)
    }

    static func ask(_ operation: Operation, _ nodes: Nodes, _ credential: KnownCredential) -> UInt64 {
        var inquiry = Inquiry(credential, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(operation, nodes).isAllowed ? 1 : 0
    }

    /// Four objects, so that no answer is always the same one's.
    static func facts(_ kind: ObjectKind, entries: Int) -> [ObjectFacts] {
        (0..<4).map { number in
            ObjectFacts(
                kind: kind, owner: 500, group: 20, mode: FileMode(rawValue: number & 1 == 0 ? 0o755 : 0o751),
                acl: entries == 0 ? nil : acl(entries))
        }
    }

    static func acl(_ count: Int, flags: ACEFlags = []) -> ACL {
        ACL((1...count).map { index in
            if index == count { return ACE(.everyone, .allow, [.read, .execute], flags: flags) }
            let group = GUID(group: 30_000 + UInt32(index))
            return ACE(group, index % 4 == 0 ? .deny : .allow, [.read, .write, .execute, .delete], flags: flags)
        })
    }
}
