import ACLFileSystem
import Authorization

/// Exit codes of mount(8), which callers of these commands expect.
enum MountExit {
    static let wrongUse: Int32 = 1
    static let systemError: Int32 = 2
    static let failed: Int32 = 32
}

/// Why a mount did not come about.
struct MountFailure: Error {
    var status: Int32
    var message: String
}

/// What a mount was asked for, whichever grammar it came in.
struct MountRequest {
    var source = ""
    var mountpoint = ""
    var options = MountOptions()
    var foreground = false
    var debug = false
    /// mount(8)'s -f: everything but the mount itself.
    var fake = false
}

extension MountRequest {
    /// `[-f] [-d] [-o OPTIONS] SOURCE MOUNTPOINT`, options anywhere.
    static func command(_ arguments: [String]) throws(MountFailure) -> MountRequest {
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

    /// `SPEC DIR [-sfnv] [-N ns] [-o OPTIONS] [-t type]`: mount(8)'s grammar for helpers.
    static func helper(_ arguments: [String]) throws(MountFailure) -> MountRequest {
        var request = MountRequest()
        var arguments = arguments
        for word in ["-N", "-t"] {
            while let index = arguments.firstIndex(of: word) {
                guard index + 1 < arguments.count else { throw usage("\(word) needs a value") }
                arguments.removeSubrange(index...index + 1)
            }
        }
        try request.parse(arguments) { (request, flag) in
            guard flag.hasPrefix("-"), !flag.hasPrefix("--"), flag.count > 1 else { return false }
            for letter in flag.dropFirst() {
                switch letter {
                case "f": request.fake = true
                case "s", "n", "v", "w": break
                case "r": request.options.volume.isReadOnly = true
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
    }

    private mutating func apply(_ text: String) throws(MountFailure) {
        do { try options.apply(text) } catch { throw Self.usage(error.description) }
    }

    private static func usage(_ message: String) -> MountFailure {
        MountFailure(status: MountExit.wrongUse, message: message)
    }
}
