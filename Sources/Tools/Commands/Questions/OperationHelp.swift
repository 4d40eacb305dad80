import ACLFormats

/// The operations of `aclfs explain --help`, each with a command that makes it.
package enum OperationHelp {
    package static var text: String {
        """
        OPERATION is one of these, each with a command that needs it:

        \(HelpTable.text(OperationWord.allCases.map { ($0.rawValue, example($0)) }))

        or a right, such as read or delete_child (aclfs chmod --help has all).

        Examples:

          aclfs explain open-write plans
          aclfs explain --as bob:staff rename plans old/plans
          aclfs explain --who-can delete plans
          aclfs explain -R --who-can open-write folder
          aclfs explain --last 5 /srv/share
        """
    }

    private static func example(_ operation: OperationWord) -> String {
        switch operation {
        case .openRead: "cat PATH"
        case .openWrite: "echo x >PATH"
        case .openAppend: "echo x >>PATH"
        case .exec: "./PATH"
        case .create: "touch PATH, of a new file"
        case .mkdir: "mkdir PATH"
        case .unlink: "rm PATH"
        case .rmdir: "rmdir PATH"
        case .rename: "mv PATH PATH2"
        case .link: "ln PATH PATH2"
        case .chmod: "chmod 600 PATH"
        case .chown: "chown bob PATH"
        case .chflags: "aclfs chflags hidden PATH"
        case .setacl: "aclfs chmod +a \"bob allow read\" PATH"
        case .setxattr: "setfattr -n user.note -v x PATH"
        case .getxattr: "getfattr -n user.note PATH"
        case .listxattr: "getfattr -m - PATH"
        case .stat: "stat PATH"
        case .readlink: "readlink PATH"
        case .truncate: "truncate -s 0 PATH"
        case .utimes: "touch -d yesterday PATH"
        case .accessRead: "test -r PATH"
        case .accessWrite: "test -w PATH"
        case .accessExecute: "test -x PATH"
        }
    }
}
