import Authorization

// A file of alice's (user 501) with mode 640. Its list denies interns (group 30) reading, and allows it to bob (user 502).
let folder = ObjectFacts(kind: .directory, owner: 501, group: 20, mode: FileMode(rawValue: 0o755))
let plans = ObjectFacts(
    kind: .file, owner: 501, group: 20, mode: FileMode(rawValue: 0o640),
    acl: ACL([
        ACE(GUID(group: 30), .deny, .read),
        ACE(GUID(user: 502), .allow, [.read, .delete]),
    ]))

let callers = [
    ("alice", KnownCredential(uid: 501, gid: 20)),
    ("bob", KnownCredential(uid: 502, gid: 40)),
    ("carol", KnownCredential(uid: 503, gid: 40, groups: [30])),
    ("dave", KnownCredential(uid: 504, gid: 20)),
]
let questions: [(String, Operation)] = [
    ("read", .open(.read)), ("change", .open(.write)), ("remove", .unlink), ("chmod", .chmod(FileMode(rawValue: 0o600))),
]

for (name, caller) in callers {
    for (word, operation) in questions {
        var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: StageObserver())
        let decision = inquiry.authorize(operation, FactsByRole(object: plans, parent: folder))
        let answer = decision.denial.map { "no (\($0))" } ?? "yes"
        print("\(name) \(word): \(answer), by \(decision.stage.name)")
    }
}
