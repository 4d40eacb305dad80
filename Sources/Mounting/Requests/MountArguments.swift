import Authorization
import MountOptions
import ToolSupport

/// What a mount was asked for, whichever grammar it came in.
package struct MountRequest {
    package var source = ""
    package var mountpoint = ""
    package var options = MountOptions()
    /// The words that `options` was made of.
    package var optionTexts: [String] = []
    package var foreground = false
    package var debug = false
    /// mount(8)'s -f: everything but the mount itself.
    package var fake = false
    /// mount(8) asks: a missing source with `nofail` is no failure.
    package var isHelper = false
    package var isVerbose = false
    /// The mount namespace that is meant, as a path; nil is our own.
    package var namespace: String?
    /// What the log is to hold of how the words were understood.
    package var remarks: [String] = []
}

extension MountRequest {
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

    /// `SOURCE MOUNTPOINT -o OPTIONS`, the command's grammar without its word: how mount.fuse3 calls a file system.
    ///
    /// It adds dev and suid at the end for root unless nodev and nosuid are said, and takes those away that the
    /// user wrote. Nobody asked for them, so they do not count there.
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
                remarks.append(
                    "'\(added.joined(separator: ","))' at the end of the options is mount.fuse3's addition and does not "
                        + "count; whoever wants it calls aclfs mount")
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
        guard words.count == 2 else { throw Self.usage("expected SOURCE and MOUNTPOINT, got \(words.count) words") }
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
