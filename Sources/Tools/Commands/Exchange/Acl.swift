/// `aclfs acl`: metadata of whole trees.
enum Acl: CommandGroup, ListedCommand {
    static let name = "aclfs acl"
    static let summary = "export, import, compare and copy metadata of trees"
    static let example = "acl export --json /srv/share"
    static var commands: [any Command.Type] { [AclExport.self, AclImport.self, AclDiff.self, AclCopy.self, AclRemap.self] }
}
