import ACLFormats

/// What `aclfs chmod --help` prints: every verb and every word of an entry, each with an example.
enum ChmodHelp {
    static var text: String {
        [
            ChmodArguments.usage, "", changes, "", options, "", who, "", "Rights, with the commands that need them:", "",
            HelpTable.text(rights), "", "Sets of rights, stored as the rights that they contain:", "", HelpTable.text(sets), "",
            "Inheritance flags, and what inherits an entry that has them:", "", HelpTable.text(flags),
            "  aclfs chmod +a \"group:staff allow read_set,search,file_inherit\" folder", "",
            "aclfs explain --as bob read plans says what is decided, and why.",
        ].joined(separator: "\n")
    }

    private static let changes = """
        Changes, each with an example:

          MODE            aclfs chmod u+x,go-w tool
          +a ENTRY        adds an entry where its kind belongs: denies above allows
                          aclfs chmod +a "bob allow read,write" plans
          +ai ENTRY       the same, marked as inherited
                          aclfs chmod +ai "group:staff allow read" plans
          +a# N ENTRY     adds it at position N, counted from 0
                          aclfs chmod +a# 0 "bob deny delete" plans
          +ai# N ENTRY    the same, marked as inherited
                          aclfs chmod +ai# 2 "group:staff allow read" plans
          -a ENTRY        removes these rights from the entries of the same name
                          aclfs chmod -a "bob allow write" plans
          -a# N           removes entry N
                          aclfs chmod -a# 1 plans
          =a# N ENTRY     replaces entry N
                          aclfs chmod =a# 0 "bob allow read" plans
          -E              replaces the list with standard input, one entry a line,
                          at most 126 and 4095 bytes;
                          a first line '!#acl 1 no_inherit' keeps out entries
                          from above, and '!#acl 1' lets them in again
                          aclfs ls -le plans | aclfs chmod -E copy
          -i              makes inherited entries explicit
                          aclfs chmod -i plans
          -I              removes inherited entries
                          aclfs chmod -I plans
          -N              removes the list
                          aclfs chmod -RN folder
          -C              tests for canonical order; as on macOS, status 1 means yes
                          aclfs chmod -Cv plans
        """

    private static let options = """
        Options:

          -R, --recursive       also all below; -H follows links among FILEs, -L all
          -h, --no-dereference  changes a link itself
          -f, --quiet           is silent about what the system refuses
          -v, --verbose         names what is changed; -vv also modes
          --offline             sets a MODE also on files that are not on a mount
          --                    ends the options, before or after the change
        """

    private static let who = """
        ENTRY is 'WHO allow|deny WORD,WORD...', or a line of aclfs ls -le. WHO is:

          bob                   a user, or a group if there is no such user
          user:bob, group:eng   a user, a group
          user:1500, group:20   by number
          mary jones:allow:read a name with a space needs colons
          owner@, group@        the object's owner, the members of its group
          everyone, everyone@   all users
          FFFFEEEE-DDDD-...     a UUID, as aclfs ls -le shows an unknown WHO
        """

    /// Each right with its words on files and on directories.
    static let rights: [(String, String)] = RightName.all.map { name in
        let word = name.fileWord ?? name.directoryWord
        let words = word == name.directoryWord ? word : "\(word), \(name.directoryWord)"
        return (words, example(word))
    }

    private static func example(_ word: String) -> String {
        switch word {
        case "read": "cat FILE; ls FOLDER"
        case "write": "echo x >FILE; touch FOLDER/NEW"
        case "execute": "./FILE; cd FOLDER and every path through it"
        case "delete": "rm THIS, mv THIS"
        case "append": "echo x >>FILE; mkdir FOLDER/NEW"
        case "delete_child": "rm FOLDER/ANY, mv FOLDER/ANY"
        case "readattr": "stat THIS"
        case "writeattr": "touch -d yesterday THIS"
        case "readextattr": "getfattr -d THIS"
        case "writeextattr": "setfattr -n user.note -v x THIS"
        case "readsecurity": "aclfs ls -le THIS; stat THIS"
        case "writesecurity": "chmod, chgrp, aclfs chmod and aclfs chflags THIS"
        case "chown": "chown ME THIS"
        default: ""
        }
    }

    static let sets: [(String, String)] = RightSet.all.map { set in
        switch set.word {
        case "full_control": (set.word, "all of them")
        case "modify_set": (set.word, "all but writesecurity and chown")
        default: (set.word, rightWords(set.rights(isDirectory: false), isDirectory: false).joined(separator: ", "))
        }
    }

    static let flags: [(String, String)] = [
        ("file_inherit", "new files in it"), ("directory_inherit", "new directories in it, and what is made in those"),
        ("limit_inherit", "only what is made in it, nothing further below"),
        ("only_inherit", "only those; the entry does not count for the directory"),
        ("inherited", "marks an entry as inherited"),
    ]
}

/// Two columns of help.
enum HelpTable {
    static func text(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "  \($0)\(String(repeating: " ", count: width - $0.count + 2))\($1)" }.joined(separator: "\n")
    }
}
