import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// What the kernel is shown, and how long it may believe it: the one place where timeouts come from
// (docs/coherence.md). All of it runs with the metadata lock held, from the decision on.

/// Attributes and the seconds that they are good for.
struct ShownAttributes {
    var attributes: ObjectAttributes
    var validFor: Double
}

/// What a look-up found.
enum LookupAnswer {
    case found(Entry)
    /// There is no such name, and the kernel may believe that for so many seconds.
    case absent(validFor: Double)
}

extension FileSystem {
    /// Shows an object under a name, and counts the look-up.
    /// - Parameter isListed: by READDIRPLUS.
    func entry(_ child: ObjectState, named name: UnsafePointer<CChar>, below parent: ObjectState, isListed: Bool = false) -> Entry {
        let isNew = isNewHere(child.object)
        let node = enter(child, named: name, below: parent)
        return Entry(
            node: node.id, generation: generation, attributes: attributes(of: child),
            attributesValidFor: isNew || hasSeveralNames(child) ? answerWithoutTime(child, of: node) : attributeTime(child, of: node),
            entryValidFor: entryTime(node, child.status, named: name, below: parent, isListed: isListed))
    }

    /// An object that has no name.
    func unnamedEntry(_ object: ObjectState, in directory: ObjectState) -> Entry {
        let node = enter(object, named: nil, below: directory)
        return Entry(node: node.id, generation: generation, attributes: attributes(of: object))
    }

    /// Seconds that a name is good for: none unless everybody may search its directory, and none for an object that
    /// only some may find or that could be brought back late (R7).
    private func entryTime(
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
        return cache.expose(name, child, below: directory, at: parent.status.ctime, isListed: isListed) { tellsEveryChange(parent) }
    }

    /// Seconds for the answer that there is no such name.
    func absenceTime(of name: UnsafePointer<CChar>, below parent: ObjectState) -> Double {
        guard let directory = parent.node, judge.everybodyHolds(.search, on: parent) else { return 0 }
        return cache.expose(name, nil, below: directory, at: parent.status.ctime) { tellsEveryChange(parent) }
    }

    /// Whether any later change of a directory has another ctime, and what was judged is what is stored under this one.
    /// Of a confined mount what may be searched is its zones' affair, too.
    private func tellsEveryChange(_ directory: ObjectState) -> Bool {
        view == nil && Self.isSettled(directory.status.ctime) && tree.isCurrent(directory.object, directory.status)
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
            guard SystemTime.monotonic() < end, let descriptor = tree.openDescriptor(of: seen.directory.object),
                let status = try? Syscall.statx(descriptor.rawValue)
            else { return false }
            return status.ctime == seen.ctime
        }
    }

    func shown(_ object: ObjectState) -> ShownAttributes {
        let time = object.node.map { attributeTime(object, of: $0) }
        return ShownAttributes(attributes: attributes(of: object), validFor: time ?? 0)
    }

    func shownAfterChange(_ object: ObjectState) -> ShownAttributes {
        let time = isForAll(object) && staysTrue(object) ? cache.timeOfChangedAttributes : 0
        // Whatever was taken back meanwhile, the kernel takes these, with their time.
        object.node?.attributeTime.replace(seconds: time, at: SystemTime.monotonic())
        return ShownAttributes(attributes: attributes(of: object), validFor: time)
    }

    /// What the kernel asks by itself through an open file, answered whoever asks.
    func shownWithoutTime(_ object: ObjectState) -> ShownAttributes {
        if let node = object.node { answerWithoutTime(object, of: node) }
        return ShownAttributes(attributes: attributes(of: object), validFor: 0)
    }

    /// Seconds that the attributes in an answer are good for.
    private func attributeTime(_ object: ObjectState, of node: Node) -> Double {
        let isForAll = isForAll(object)
        let time = isForAll && staysTrue(object) ? cache.times.attributes : 0
        prepareAnswer(object, of: node, goodFor: time, isForAll: isForAll)
        return time
    }

    @discardableResult private func answerWithoutTime(_ object: ObjectState, of node: Node) -> Double {
        prepareAnswer(object, of: node, goodFor: 0, isForAll: isForAll(object))
        return 0
    }

    /// Two look-ups of an object by different names are not ordered by any lock, so the attributes in an entry have no time then (R12).
    private func hasSeveralNames(_ object: ObjectState) -> Bool { object.facts.kind != .directory && object.status.nlink > 1 }

    private func isForAll(_ object: ObjectState) -> Bool { judge.everybodyHolds([.readAttributes, .readSecurity], on: object) }

    /// Whether the kernel sees to it that attributes stay true.
    private func staysTrue(_ object: ObjectState) -> Bool {
        !changesElsewhere(object.object) && !(object.status.isRegular && changesUnseen(object))
    }

    /// A file's data or times may change without the kernel's knowledge.
    private func changesUnseen(_ object: ObjectState) -> Bool {
        share.growing.times.isShown(object.object.key)
            || share.dataPaths.changesUnseen(object.object.key, object.descriptor.rawValue)
    }
}

// MARK: Taking back

extension FileSystem {
    /// After a change of an object's facts and before the reply: takes back what is no longer everybody's (R1, R2).
    /// - Parameters:
    ///   - after: nil if it cannot be told any more.
    ///   - repliesWithAttributes: the kernel learns the new attributes from the reply itself.
    func invalidate(_ object: ObjectState, after: ObjectFacts?, repliesWithAttributes: Bool = false) {
        defer { tellOthers(of: object.object) }
        guard let node = object.node else { return }
        if loses(.search, object, after), node.isDirectory { cache.invalidateEntries(below: node) }
        if repliesWithAttributes { return }
        cache.invalidateAttributes(of: node.id)
        // It runs programs by what it knows of these.
        if let after, after.mode == object.facts.mode, after.owner == object.facts.owner, after.group == object.facts.group { return }
        node.attributeTime.forget(at: SystemTime.monotonic())
    }

    private func loses(_ rights: Rights, _ before: ObjectState, _ after: ObjectFacts?) -> Bool {
        guard judge.everybodyHolds(rights, on: before) else { return false }
        guard let after else { return true }
        return !judge.everybodyHolds(rights, on: after, before.location)
    }

    /// An object has moved to a new name; it keeps the time that it was given under the old one (R2).
    func invalidateMoved(_ object: ObjectState, from source: ObjectState, to name: UnsafePointer<CChar>, in destination: ObjectState) {
        tellOthers(ofNameIn: source, object.object)
        tellOthers(ofNameIn: destination, nil)
        guard let old = source.node, let new = destination.node else { return }
        // Below a directory that moves between zones other rights hold.
        if object.location.zone != destination.location.below(name).zone, object.facts.kind == .directory {
            invalidateView()
        }
        if judge.everybodyHolds(.search, on: destination) {
            cache.move(nodes.known(object.object)?.id, from: old, to: name, below: new)
        } else {
            cache.invalidateEntries(below: old)
        }
    }

    /// No names are handed out from now on, and those that were are taken back one by one. Until that is done,
    /// revocations still take back all at once: what someone mounts in that moment may be lost.
    func suspendForMountsBelow() {
        // With the lock, nobody stands between a look at the old times and the note of a name. What listings show that are
        // not used yet the kernel stamps when it uses them, in whatever epoch it was looked for.
        let batch = metadataLock.withWriteLock { cache.suspendForMountsBelow(unused: handles.unusedNames) }
        batch.map(invalidateSingly)
    }

    /// On the clock's thread.
    func invalidateLateEntries() { cache.takeLateNames().map(invalidateSingly) }

    private func invalidateSingly(_ batch: NamesInFlight.Batch) {
        let orders = Notices.Orders(
            isWanted: { [cache] in cache.isInFlight(batch.ticket) },
            isDropped: { [self] name in
                guard let child = name.child, let node = nodes.find(child) else { return false }
                // A directory's entry is used again under whatever name it is found, so it has the mark (R7).
                guard !node.isDirectory else {
                    node.revalidation.mark()
                    return false
                }
                // A late answer then meets an entry that nobody finds any more. Not where something is mounted on a file.
                guard let parent = nodes.find(name.parent) else { return false }
                return !name.bytes.withUnsafeBufferPointer { bytes in
                    bytes.baseAddress.map { mountsBelow.guards($0, in: parent.object) } ?? true
                }
            },
            then: { [cache] in cache.finish(batch.ticket) })
        notices.invalidate(batch.names, orders)
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
