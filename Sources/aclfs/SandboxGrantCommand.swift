import ACLFormats
import ToolSupport

/// `aclfs sandbox grant`.
enum SandboxGrantCommand {
    static func run(_ arguments: [[UInt8]]) -> Int32 { 2 }
}
