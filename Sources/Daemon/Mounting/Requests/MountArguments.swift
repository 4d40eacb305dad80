import Authorization
import MountOptions
import ToolSupport

/// A request to mount, from any of the three grammars.
package struct MountRequest {
    package var source = ""
    package var mountpoint = ""
    package var options = MountOptions()
    /// The texts that `options` was parsed from.
    package var optionTexts: [String] = []
    package var foreground = false
    package var debug = false
    /// -f of mount(8): all checks, but no mount.
    package var fake = false
    /// Whether mount(8) is the caller. Then a missing source with `nofail` is no failure.
    package var isHelper = false
    package var isVerbose = false
    /// The path of the mount namespace; nil: the one of this process.
    package var namespace: String?
    /// Lines for the log about words that do not count.
    package var remarks: [String] = []
}

extension MountRequest {
    /// Why the options are not for a line of fstab; nil: they are.
    package var obstacleInFstab: String? {
        if options.isRemount { return "'remount' changes an existing mount: mount -o remount,… MOUNTPOINT; leave it out" }
        guard options.fsname != nil else { return nil }
        return "fsname= hides the source from mount(8), which would mount a second time on mount -a; leave it out"
    }

    /// `[-f] [-d] [-o OPTIONS] SOURCE MOUNTPOINT`, options anywhere.
    package static func command(_ arguments: [String]) throws(MountFailure) -> MountRequest {
        var request = MountRequest()
        try request.parse(arguments) { (request, flag) in
            switch flag {
            case "-f", "--foreground": request.foreground = true
            case "-d", "--debug": (request.debug, request.foreground) = (true, true)
            default: return false
            }
            return true
        }
        return request
    }

    /// `SOURCE MOUNTPOINT -o OPTIONS`: how mount.fuse3 calls a file system.
    ///
    /// For root mount.fuse3 appends dev and suid unless the options contain nodev and nosuid, and removes the user's own. So they do not
    /// count at the end.
    package static func plain(_ arguments: [String]) throws(MountFailure) -> MountRequest {
        var arguments = arguments
        var remarks: [String] = []
        if let index = arguments.lastIndex(where: { $0 == "-o" }), index + 1 < arguments.count {
            var text = arguments[index + 1]
            var added: [String] = []
            for word in ["suid", "dev"] where text == word || text.hasSuffix("," + word) {
                text = String(text.dropLast(text == word ? word.count : word.count + 1))
                added.insert(word, at: 0)
            }
            if !added.isEmpty {
                arguments[index + 1] = text
                let words = added.joined(separator: ",")
                remarks.append(
                    "'\(words)' at the end of the options is ignored, because mount.fuse3 adds it for root; "
                        + "to set it, use aclfs mount -o \(words)")
            }
        }
        var request = try command(arguments)
        request.remarks = remarks
        return request
    }

    /// `SPEC DIR [-sfnv] [-N ns] [-o OPTIONS] [-t type]`: mount(8)'s grammar for helpers.
    package static func helper(_ arguments: [String]) throws(MountFailure) -> MountRequest {
        var request = MountRequest()
        request.isHelper = true
        var arguments = arguments
        for word in ["-N", "-t"] {
            while let index = arguments.firstIndex(of: word) {
                guard index + 1 < arguments.count else { throw usage("\(word) needs a value") }
                if word == "-N" { request.namespace = arguments[index + 1] }
                arguments.removeSubrange(index...index + 1)
            }
        }
        try request.parse(arguments) { (request, flag) in
            guard flag.hasPrefix("-"), !flag.hasPrefix("--"), flag.count > 1 else { return false }
            for letter in flag.dropFirst() {
                switch letter {
                case "f": request.fake = true
                case "v": request.isVerbose = true
                case "s", "n": break
                case "r", "w": try? request.apply(letter == "r" ? "ro" : "rw")
                default: return false
                }
            }
            return true
        }
        return request
    }

    private mutating func parse(
        _ arguments: [String], _ flag: (inout MountRequest, String) -> Bool
    ) throws(MountFailure) {
        var words: [String] = []
        var index = 0
        var onlyWords = false
        while index < arguments.count {
            let word = arguments[index]
            index += 1
            if onlyWords || !word.hasPrefix("-") || word == "-" {
                words.append(word)
            } else if word == "--" {
                onlyWords = true
            } else if word == "-o" || word == "--options" {
                guard index < arguments.count else { throw Self.usage("\(word) needs a value") }
                try apply(arguments[index])
                index += 1
            } else if word.hasPrefix("-o") {
                try apply(String(word.dropFirst(2)))
            } else if !flag(&self, word) {
                throw Self.usage("unknown flag '\(word)'")
            }
        }
        guard words.count == 2 else {
            throw Self.usage("expected SOURCE and MOUNTPOINT, got \(words.count) word\(words.count == 1 ? "" : "s")")
        }
        (source, mountpoint) = (words[0], words[1])
        if !options.isRemount {
            do { try options.checkTogether() } catch { throw Self.usage(error.description) }
        }
    }

    private mutating func apply(_ text: String) throws(MountFailure) {
        do { try options.apply(text) } catch { throw Self.usage(error.description) }
        optionTexts.append(text)
    }

    private static func usage(_ message: String) -> MountFailure {
        MountFailure(status: MountExit.wrongUse, message: message)
    }
}
