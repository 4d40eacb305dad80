import LinuxSystem

extension [MountInfo] {
    /// The outermost mount, on the way to another, that somebody else serves, neither root nor this user: a walk through it
    /// may wait for him for ever. What lies below is not looked for; the outermost stands for it.
    func strangersMount(above id: UInt64, uid: UInt32) -> MountInfo? {
        var found: MountInfo?
        var next = first { $0.id == id }?.parent
        // A table that is read while it changes may lead in a circle.
        for _ in indices {
            guard let above = first(where: { $0.id == next }) else { break }
            let entry = MountEntry(above)
            if entry.type.hasPrefix("fuse"), let owner = entry.userID, owner != 0, owner != uid { found = above }
            next = above.parent
        }
        return found
    }
}
