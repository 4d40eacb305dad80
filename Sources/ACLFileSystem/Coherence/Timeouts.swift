import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// What the kernel is shown, and how long it may believe it: the one place where timeouts come from
// (docs/coherence.md). All of it runs with the metadata lock held, from the decision on.

/// Attributes and the seconds that they are good for.
struct AttributeAnswer {
    var attributes: ObjectAttributes
    var validFor: Double
}

/// What a look-up found.
enum LookupAnswer {
    case found(Entry)
    /// There is no such name, and the kernel may believe that for so many seconds.
    case absent(validFor: Double)

    /// The same, to be asked again each time.
    static let absentUncacheable = LookupAnswer.absent(validFor: 0)
}

extension KernelView {
    /// Shows an object under a name, and counts the look-up.
    /// - Parameter isListed: by READDIRPLUS.
    func makeEntry(_ child: ObjectState, named name: UnsafePointer<CChar>, below parent: ObjectState, isListed: Bool = false) -> Entry {
        let isNew = mayBeUnknownToKernel(child.object)
        let node = loader.enter(child, named: name, below: parent)
        return Entry(
            node: node.id, generation: generation, attributes: attributes(of: child),
            attributesValidFor: isNew || hasSeveralNames(child) ? prepareUncacheable(child, of: node) : prepareCacheable(child, of: node),
            entryValidFor: entryTimeout(node, child.status, named: name, below: parent, isListed: isListed))
    }

    /// What happened since the entry was made leaves no time to its attributes.
    func makeAttributesUncacheable(in entry: inout Entry) { entry.attributesValidFor = 0 }

    /// An object that has no name.
    func makeUnnamedEntry(_ object: ObjectState, in directory: ObjectState) -> Entry {
        let node = loader.enter(object, named: nil, below: directory)
        return Entry(node: node.id, generation: generation, attributes: attributes(of: object))
    }

    /// Seconds that a name is good for: none unless everybody may search its directory, and none for an object that
    /// only some may find or that could be brought back late (R7).
    private func entryTimeout(
        _ node: Node, _ status: FileStatus, named name: UnsafePointer<CChar>, below parent: ObjectState, isListed: Bool
    ) -> Double {
        guard let directory = parent.node, cache.times.entry > 0, judge.everybodyHolds(.search, on: parent),
            judge.gate.rights(behind: node.object.kind) == nil
        else {
            if node.isDirectory {
                node.revalidation.mark()
                cache.invalidateOldTimeout(of: node)
            } else {
                cache.answerWithoutTime(node)
            }
            return 0
        }
        if node.isDirectory, node.revalidation.isPossible {
            if forgetting.add(node, name, in: directory.id) { cache.wakeClock() }
            return 0
        }
        let child = NamedChild(node: node, isElsewhere: status.mountID != parent.status.mountID)
        return cache.expose(name, child, below: directory, at: parent.status.ctime, isListed: isListed) { ctimeTellsEveryChange(parent) }
    }

    /// Seconds for the answer that there is no such name.
    func absenceTimeout(of name: UnsafePointer<CChar>, below parent: ObjectState) -> Double {
        guard let directory = parent.node, judge.everybodyHolds(.search, on: parent) else { return 0 }
        return cache.expose(name, nil, below: directory, at: parent.status.ctime) { ctimeTellsEveryChange(parent) }
    }

    /// Whether any later change of a directory has another ctime, and what was judged is what is stored under this one.
    /// Of a confined mount what may be searched is its zones' affair, too.
    private func ctimeTellsEveryChange(_ directory: ObjectState) -> Bool {
        loader.view == nil && Self.isSettled(directory.status.ctime) && loader.tree.isCurrent(directory.object, directory.status)
    }

    /// A file system stamps a directory before the name changes, and may wait for its journal in between.
    private static func isSettled(_ ctime: Timespec) -> Bool {
        let longestChange: Int64 = 10
        return ctime.nsec != 0 && SystemTime.now().sec - ctime.sec > longestChange
    }

    /// Whether time alone is no reason to take these directories' names back (docs/coherence.md).
    func areUnchanged(_ directories: ExposedDirectories) -> Bool {
        // Longer than that is dearer than a bump, and the clock has other things to do.
        let end = SystemTime.monotonic() + 20_000_000
        return directories.all.allSatisfy { seen in
            guard SystemTime.monotonic() < end, let descriptor = loader.tree.atHand(seen.directory.object),
                let status = try? Syscall.statx(descriptor.rawValue)
            else { return false }
            return status.ctime == seen.ctime
        }
    }

    /// The attributes of an object, with a timeout if every caller may see them.
    func cacheableAttributes(of object: ObjectState) -> AttributeAnswer {
        let timeout = object.node.map { prepareCacheable(object, of: $0) }
        return AttributeAnswer(attributes: attributes(of: object), validFor: timeout ?? 0)
    }

    /// The attributes that answer a SETATTR.
    func attributesAfterChange(of object: ObjectState) -> AttributeAnswer {
        let timeout = everybodyReads(object) && kernelLearnsChanges(of: object) ? cache.timeOfChangedAttributes : 0
        // The kernel takes these with their timeout, even if attributes were invalidated meanwhile.
        object.node?.attributeTime.replace(seconds: timeout, at: SystemTime.monotonic())
        return AttributeAnswer(attributes: attributes(of: object), validFor: timeout)
    }

    /// What the kernel asks by itself through an open file, answered whoever asks.
    func uncacheableAttributes(of object: ObjectState) -> AttributeAnswer {
        if let node = object.node { prepareUncacheable(object, of: node) }
        return AttributeAnswer(attributes: attributes(of: object), validFor: 0)
    }

    /// Seconds that the attributes in an answer are good for.
    private func prepareCacheable(_ object: ObjectState, of node: Node) -> Double {
        let isForEverybody = everybodyReads(object)
        let timeout = isForEverybody && kernelLearnsChanges(of: object) ? cache.times.attributes : 0
        prepareAnswer(object, of: node, timeout: timeout, isForEverybody: isForEverybody)
        return timeout
    }

    /// Prepares the kernel for an answer with a timeout of 0.
    /// - Returns: that timeout.
    @discardableResult private func prepareUncacheable(_ object: ObjectState, of node: Node) -> Double {
        prepareAnswer(object, of: node, timeout: 0, isForEverybody: everybodyReads(object))
        return 0
    }

    /// Two look-ups of an object by different names are not ordered by any lock, so the attributes in an entry have no time then (R12).
    private func hasSeveralNames(_ object: ObjectState) -> Bool { object.facts.kind != .directory && object.status.nlink > 1 }

    private func everybodyReads(_ object: ObjectState) -> Bool { judge.everybodyHolds([.readAttributes, .readSecurity], on: object) }

    /// Whether the kernel sees to it that attributes stay true.
    private func kernelLearnsChanges(of object: ObjectState) -> Bool {
        !mayChangeElsewhere(object.object) && !(object.status.isRegular && mayChangeUnseen(object))
    }

    /// A file's data or times may change without the kernel's knowledge.
    private func mayChangeUnseen(_ object: ObjectState) -> Bool {
        share.growing.times.isShown(object.object.key)
            || share.dataPaths.changesUnseen(object.object.key, object.descriptor.rawValue)
    }
}

extension UnsafePointer<CChar> {
    /// The characters with their NUL.
    var copied: [CChar] {
        var characters: [CChar] = []
        var cursor = self
        while cursor.pointee != 0 {
            characters.append(cursor.pointee)
            cursor += 1
        }
        characters.append(0)
        return characters
    }
}

extension KernelView {
    func attributes(of object: ObjectState) -> ObjectAttributes {
        let status = object.status
        let modification =
            object.object.kind == .file
            ? share.growing.times.modification(of: object.object.key, status, object.descriptor.rawValue) : status.mtime
        return ObjectAttributes(
            ino: loader.tree.shownInode(device: status.device, inode: status.inode), mode: status.mode,
            nlink: status.nlink, uid: status.uid, gid: status.gid, size: status.size, blocks: status.blocks,
            blksize: status.blksize, rdev: status.rdev, accessTime: Timestamp(status.atime),
            modificationTime: Timestamp(modification), changeTime: Timestamp(status.ctime),
            birthTime: status.hasBirthTime ? Timestamp(status.btime) : nil)
    }
}

extension Timestamp {
    init(_ time: Timespec) { self.init(seconds: time.sec, nanoseconds: time.nsec) }
}
