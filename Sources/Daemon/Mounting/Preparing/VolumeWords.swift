import ACLFormats
import BackingStore
import LinuxSystem
import MountOptions
import ToolSupport

/// The settings that `aclfs volume` keeps in the record of a source (docs/guide/administration.md "Volumes").
package enum VolumeWords {
    /// - Parameters:
    ///   - request: what is asked for.
    ///   - tree: the source.
    ///   - source: its path.
    /// - Returns: the request with the words that the source has and the request has not.
    /// - Throws: together they contradict each other.
    package static func added(to request: MountRequest, of tree: BackingTree, _ source: String) throws(MountFailure) -> MountRequest {
        guard let directory = try? tree.descriptor(of: tree.root), let settings = try? tree.record(directory.rawValue).volume else {
            return request
        }
        var request = request
        for word in settings.words {
            if let said = request.options.given.last(where: { $0 == word || $0 == VolumeSettings.opposite(of: word) }) {
                if said != word { request.remarks.append("option '\(said)' overrides '\(word)', the setting of the volume") }
                continue
            }
            do {
                try request.options.apply(word)
                try request.options.checkSetID()
            } catch {
                throw MountFailure(
                    status: MountExit.failed,
                    message: "\(source): '\(word)' is a setting of the volume, which another option contradicts: \(error.description)"
                )
            }
            request.optionTexts.append(word)
            request.remarks.append("'\(word)' is a setting of the volume")
        }
        return request
    }
}

extension VolumeSettings {
    /// The words of the settings, which are those of the mount options. Of two that contradict each other the one counts that grants less.
    package var words: [String] {
        var words: [String] = []
        if contains(.acl) { words.append("acl") } else if contains(.noACL) { words.append("noacl") }
        if contains(.owners) { words.append("owners") } else if contains(.noOwners) { words.append("noowners") }
        return words
    }

    package static func opposite(of word: String) -> String { word.hasPrefix("no") ? String(word.dropFirst(2)) : "no" + word }

    /// Sets the setting of a word.
    /// - Returns: false for a word that is none.
    package mutating func set(_ word: String) -> Bool {
        let pairs: [String: (VolumeSettings, VolumeSettings)] = [
            "acl": (.acl, .noACL), "noacl": (.noACL, .acl), "owners": (.owners, .noOwners), "noowners": (.noOwners, .owners),
        ]
        guard let (setting, other) = pairs[word] else { return false }
        subtract(other)
        formUnion(setting)
        return true
    }
}
