import ACLFormats
import SandboxPolicy
import ToolSupport

/// What the commands of grants have in common.
enum Grants {
    static func wrong(_ message: String) -> Int32 {
        printError("aclfs: \(message)")
        return 2
    }

    static func isBundle(_ text: String) -> Bool { ContainerLayout.isIdentifier(text) }

    static func wrongBundle(_ bundle: String) -> Int32 {
        wrong("--bundle \(escapedName(bundle.utf8)): expected a bundle identifier such as org.example.App")
    }

    static let noPath = "no path; see aclfs sandbox grant --help"

    static func each<Item>(
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
