import Authorization

/// What the people of a preset can do in its directory, decided by the rules of docs/reference/authorization.md.
struct PresetOutlook {
    enum Person: String, CaseIterable {
        case owner
        case member
        case other
    }

    /// In the directory, or with a file in it that a member made.
    enum Act: String, CaseIterable {
        case list = "list the folder"
        case addFile = "add a file"
        case addFolder = "add a folder"
        case read = "read a member's file"
        case change = "change it"
        case append = "add to it"
        case rename = "rename it"
        case remove = "remove it"
        case readOwn = "read a file of one's own"
        case changeOwn = "change it (own)"
        case removeOwn = "remove it (own)"
    }

    private let directory: ObjectFacts
    private let group: UInt32
    private let volume: VolumeState

    /// Numbers of people who are in no list.
    private static let numbers: (member: UInt32, another: UInt32, other: UInt32) = (0xFFF0_0001, 0xFFF0_0002, 0xFFF0_0003)
    private static let noGroup: UInt32 = 0xFFF0_0004

    /// - Parameters:
    ///   - directory: after the preset.
    ///   - group: whose members are meant.
    init(_ directory: ObjectFacts, group: UInt32) {
        (self.directory, self.group) = (directory, group)
        var volume = VolumeState()
        volume.protectsHardLinks = true
        self.volume = volume
    }

    func can(_ person: Person, _ act: Act) -> Bool {
        let subject = credential(person)
        guard decide(subject, .rights(.execute), FactsByRole(object: directory)) else { return false }
        switch act {
        case .list: return decide(subject, .open([.read, .directory]), FactsByRole(object: directory))
        case .addFile: return decide(subject, .create(Self.file), FactsByRole(parent: directory))
        case .addFolder: return decide(subject, .create(Self.folder), FactsByRole(parent: directory))
        case .readOwn, .changeOwn, .removeOwn:
            guard decide(subject, .create(Self.file), FactsByRole(parent: directory)) else { return false }
            return isAllowed(act, to: subject, on: file(of: subject))
        default: return isAllowed(act, to: subject, on: file(of: KnownCredential(uid: Self.numbers.another, gid: group)))
        }
    }

    private static let file = CreationRequest(kind: .file, mode: FileMode(rawValue: 0o666), umask: 0o022)
    private static let folder = CreationRequest(kind: .directory, mode: FileMode(rawValue: 0o777), umask: 0o022)

    private func credential(_ person: Person) -> KnownCredential {
        switch person {
        case .owner: KnownCredential(uid: directory.owner, gid: Self.noGroup)
        case .member: KnownCredential(uid: Self.numbers.member, gid: group)
        case .other: KnownCredential(uid: Self.numbers.other, gid: Self.noGroup)
        }
    }

    private func file(of maker: KnownCredential) -> ObjectFacts? {
        try? Inquiry(maker, on: volume, sandbox: Unconfined(), observer: NoObserver()).newObject(Self.file, in: directory, gid: maker.gid)
    }

    private func isAllowed(_ act: Act, to subject: KnownCredential, on file: ObjectFacts?) -> Bool {
        guard let file else { return false }
        let both = FactsByRole(object: file, parent: directory)
        switch act {
        case .read, .readOwn: return decide(subject, .open(.read), FactsByRole(object: file))
        case .change, .changeOwn: return decide(subject, .open(.write), FactsByRole(object: file))
        case .append: return decide(subject, .open([.write, .append]), FactsByRole(object: file))
        case .rename: return decide(subject, .rename, both)
        case .remove, .removeOwn: return decide(subject, .unlink, both)
        case .list, .addFile, .addFolder: return false
        }
    }

    private func decide(_ subject: KnownCredential, _ operation: Operation, _ facts: FactsByRole) -> Bool {
        var inquiry = Inquiry(subject, on: volume, sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(operation, facts).isAllowed
    }
}
