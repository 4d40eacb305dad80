/// `aclfs acl`: metadata of whole trees.
enum Acl: CommandGroup, ListedCommand {
    static let name = "aclfs acl"
    static let summary = "export, import, compare and copy metadata of trees"
    static let example = "acl export --json /srv/share"
    static var commands: [any Command.Type] { [AclExport.self, AclImport.self, AclDiff.self, AclCopy.self, AclRemap.self] }
    static let usage = """
        usage: aclfs acl export [--json] [--sorted] [--numeric] [--offline] [--metadata WHERE] PATH
               aclfs acl export --from-mac [--json] [--sorted] LISTING|DIRECTORY
               aclfs acl import [--dry-run|--undo-file FILE [--resume]] [--map-user OLD=NEW] [--map-group OLD=NEW] [--map FILE]
                   [--unknown refuse|keep] [--numeric] [--ignore WORD,...] [--set-id] [--json] [-v] [--hard-links] [--offline] [--metadata WHERE] EXPORT PATH
               aclfs acl diff [--json] [--names] [--ignore WORD,...] [--offline] [--metadata WHERE] A B
               aclfs acl import --posix --dry-run|--undo-file FILE [--resume] [--json] [--verbose] [--hard-links] [--metadata WHERE] SOURCE
               aclfs acl copy [--dry-run|--undo-file FILE [--resume]] [--ignore WORD,...] [--set-id] [--json] [-v] [--hard-links]
                   [--offline] [--metadata WHERE] FROM TO
               aclfs acl remap [--dry-run|--undo-file FILE [--resume]] [--json] [-v] [--hard-links] [--workers NUMBER] [--offline] [--metadata WHERE]
                   OLD NEW PATH
        """
}
