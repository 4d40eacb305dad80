import Authorization

/// The evaluator as a request uses it: who asks and about what is there, the question is put.
///
/// The lists are read to their end: entries name what is asked, for groups that the caller is not in, and the last one
/// lets him.
enum Decisions {
    static let caller = KnownCredential(uid: 501, gid: 20, groups: [12, 61, 80, 98])
    static let owner = KnownCredential(uid: 500, gid: 20)
    static let root = KnownCredential(uid: 0, gid: 0)

    static func run(_ bench: inout Bench) {
        let (caller, owner, root) = (caller, owner, root)
        for (count, limit) in [(0, 40.0), (16, 120.0), (128, 800.0)] {
            let words = count == 0 ? "no ACL" : "\(count) entries"
            let object = FactsByRole(object: facts(.file, entries: count))
            bench.measure("open for reading, \(words), another user", limit: limit) {
                ask(.open(reading($0)), object, caller)
            }
            bench.measure("open for reading, \(words), the owner", limit: limit) {
                ask(.open(reading($0)), object, owner)
            }
            bench.measure("open for reading, \(words), root", limit: limit) {
                ask(.open(reading($0)), object, root)
            }
        }
        let file = facts(.file, entries: 16)
        let directory = FactsByRole(object: facts(.directory, entries: 16))
        bench.measure("search, 16 entries, another user", limit: 120) {
            ask(.rights(reading($0) == .read ? .search : .list), directory, caller)
        }
        let both = FactsByRole(object: file, parent: facts(.directory, entries: 0))
        bench.measure("unlink, 16 entries on the file, another user") {
            ask(reading($0) == .read ? .unlink : .removeDirectory, both, caller)
        }
        bench.measure("facts put together and asked about, 16 entries, another user") {
            ask(.open(reading($0)), FactsByRole(object: file), caller)
        }
        bench.measure("what everybody may do, 16 entries") {
            var volume = VolumeState()
            volume.isReadOnly = $0 == .max
            return UInt64(universalRights(of: file, on: volume).rawValue)
        }
        let parent = acl(8, flags: .fileInherit)
        bench.measure("inheritance of 8 entries") {
            let list = try? inheritedACL(from: parent, by: $0 == .max ? .directory : .file)
            return UInt64(list?.entries.count ?? 0)
        }
    }

    /// Reading, which the optimiser cannot know.
    static func reading(_ number: UInt64) -> OpenIntent { number == .max ? .write : .read }

    @inline(never) static func ask(_ operation: Operation, _ nodes: FactsByRole, _ credential: KnownCredential) -> UInt64 {
        var inquiry = Inquiry(credential, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(operation, nodes).isAllowed ? 1 : 0
    }

    static func facts(_ kind: ObjectKind, entries: Int) -> ObjectFacts {
        ObjectFacts(
            kind: kind, owner: 500, group: 20, mode: FileMode(rawValue: 0o755), acl: entries == 0 ? nil : acl(entries))
    }

    static func acl(_ count: Int, flags: ACEFlags = []) -> ACL {
        ACL(
            (1...count).map { index in
                if index == count { return ACE(.everyone, .allow, [.read, .execute], flags: flags) }
                let group = GUID(group: 30_000 + UInt32(index))
                return ACE(group, index % 4 == 0 ? .deny : .allow, [.read, .write, .execute, .delete], flags: flags)
            })
    }
}
