import ACLFormats
import ControlProtocol
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// `aclfs sandbox grant add` and `remove`. Exit status: 0 done, 1 some paths failed, 2 nothing was done.
package enum SandboxGrants {
    static func wrong(_ message: String) -> Int32 {
        printError("aclfs: \(message)")
        return 2
    }

    static func isBundle(_ text: String) -> Bool { ContainerLayout.isIdentifier(text) }

    /// Grants paths to an application.
    /// - Returns: the exit status.
    package static func add(_ arguments: GrantAddRequest) -> Int32 {
        guard arguments.readOnly != arguments.readWrite else { return wrong("say either --read-only or --read-write") }
        guard isBundle(arguments.bundle) else { return wrongBundle(arguments.bundle) }
        var expires: Int64?
        if let text = arguments.expires {
            let now = SystemTime.now().sec
            guard let time = GrantTime.seconds(text, now: now) else {
                return wrong("--expires \(escapedName(text.utf8)): expected \(GrantTime.forms)")
            }
            guard time > now else { return wrong("--expires \(escapedName(text.utf8)): that time has passed; nothing was granted") }
            expires = time
        }
        guard !arguments.paths.isEmpty else { return wrong(noPath) }
        var places: [(path: [UInt8], location: MountLocation)] = []
        do throws(ControlError) {
            for path in arguments.paths { places.append((path, try location(path))) }
        } catch { return wrong("\(error.message)\(arguments.paths.count > 1 ? "; nothing was granted" : "")") }
        func ask(_ location: MountLocation, isCheck: Bool = false) throws(ControlError) -> GrantAddAnswer {
            try location.client().ask(
                GrantAddMessage(
                    bundle: arguments.bundle, path: location.names, access: arguments.readOnly ? .readOnly : .readWrite,
                    expires: expires, isCheck: isCheck, follows: arguments.follow))
        }
        // All paths are checked before the first grant.
        if places.count > 1 || arguments.follow {
            let failed = each(places) { (place) throws(ControlError) in
                let answer = try ask(place.location, isCheck: true)
                // It would grant the place instead.
                if arguments.follow, !answer.follows {
                    throw ControlError("the daemon of this mount is older and has no --follow; unmount, and mount again with this aclfs")
                }
            } name: {
                $0.path
            }
            guard failed == 0 else { return places.count > 1 ? wrong("nothing was granted") : 2 }
        }
        return each(places) { (place) throws(ControlError) in
            for note in try ask(place.location).notes ?? [] { printError("aclfs: warning: \(escapedText(note))") }
        } name: {
            $0.path
        }
    }

    /// The target of a link. If the view hides it, the path as written.
    private static func location(_ path: [UInt8]) throws(ControlError) -> MountLocation {
        do throws(ControlError) { return try MountLocation(path, isFollowed: true) } catch {
            return try MountLocation(path, isAsWritten: true)
        }
    }

    /// Removes grants of paths.
    /// - Returns: the exit status.
    package static func remove(_ arguments: GrantRemoveRequest) -> Int32 {
        guard isBundle(arguments.bundle) else { return wrongBundle(arguments.bundle) }
        guard !arguments.paths.isEmpty else { return wrong(noPath) }
        return each(arguments.paths) { (path) throws(ControlError) in
            func ask(_ location: MountLocation) throws(ControlError) {
                _ = try location.client().ask(
                    GrantRemoveMessage(bundle: arguments.bundle, path: location.names, isBelow: arguments.below))
            }
            let written = try MountLocation(path, isAsWritten: true)
            do throws(ControlError) { try ask(written) } catch {
                // `add` follows links, so the grant may be for the target of this one.
                guard let led = try? MountLocation(path, isFollowed: true), led.path != written.path else { throw error }
                do throws(ControlError) { try ask(led) } catch _ { throw error }
            }
        } name: {
            $0
        }
    }

    static func wrongBundle(_ bundle: String) -> Int32 {
        wrong("--bundle \(escapedName(bundle.utf8)): expected a bundle identifier such as org.example.App")
    }

    private static let noPath = "no path; see aclfs sandbox grant --help"

    private static func each<Item>(
        _ items: [Item], _ body: (Item) throws(ControlError) -> Void, name: (Item) -> [UInt8]
    ) -> Int32 {
        var failed = 0
        for item in items {
            do throws(ControlError) { try body(item) } catch {
                let shown = escapedName(name(item))
                printError("aclfs: \(error.message.hasPrefix(shown) ? "" : shown + ": ")\(error.message)")
                failed += 1
            }
        }
        return failed == 0 ? 0 : failed == items.count ? 2 : 1
    }
}
