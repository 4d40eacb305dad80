import ACLFormats
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
        var members: [JSON.Member] = [
            .init("bundle", .string(arguments.bundle)),
            .init("access", .string((arguments.readOnly ? EntitledAccess.readOnly : .readWrite).word)),
        ]
        if let text = arguments.expires {
            let now = SystemTime.now().sec
            guard let time = GrantTime.seconds(text, now: now) else {
                return wrong("--expires \(escapedName(text.utf8)): expected \(GrantTime.forms)")
            }
            guard time > now else { return wrong("--expires \(escapedName(text.utf8)): that time has passed; nothing was granted") }
            members.append(.init("expires", .integer(time)))
        }
        guard !arguments.paths.isEmpty else { return wrong(noPath) }
        var places: [(path: [UInt8], location: MountLocation)] = []
        do throws(ControlError) {
            for path in arguments.paths { places.append((path, try location(path))) }
        } catch { return wrong("\(error.message)\(arguments.paths.count > 1 ? "; nothing was granted" : "")") }
        func ask(_ place: (path: [UInt8], location: MountLocation), _ more: [JSON.Member]) throws(ControlError) -> JSON {
            try place.location.client().ask("grant-add", members + [JSON.path(place.location.path)] + more)
        }
        // All paths are checked before the first grant.
        if places.count > 1 {
            let failed = each(places) { (place) throws(ControlError) in
                _ = try ask(place, [.init("check", .bool(true))])
            } name: {
                $0.path
            }
            guard failed == 0 else { return wrong("nothing was granted") }
        }
        return each(places) { (place) throws(ControlError) in
            let answer = try ask(place, [])
            for note in answer["notes"]?.array ?? [] { printError("aclfs: warning: \(escapedText(note.string ?? ""))") }
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
                    "grant-remove",
                    [
                        .init("bundle", .string(arguments.bundle)), JSON.path(location.path),
                        .init("below", .bool(arguments.below)),
                    ])
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
