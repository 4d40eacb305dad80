/// What `aclfs chflags --help` prints.
enum ChflagsHelp {
    static var text: String {
        """
        \(ChflagsArguments.usage)

        FLAGS are words with commas between, or an octal number that replaces all. The
        prefix 'no' clears a flag, and 'dump' clears nodump: aclfs chflags nouchg plans

        \(HelpTable.text(words))

        Options:

          -R, --recursive       also all below; -H follows links among FILEs, -L all,
                                -P none, the default
          -h, --no-dereference  changes a link itself
          -f, --quiet           is silent about what the system refuses
          -v, --verbose         names what is changed; -vv also the flags
          -x                    stays on one file system
          --                    ends the options, before or after FLAGS
        """
    }

    static let words: [(String, String)] = [
        ("uchg", "not changed, moved or removed, even by root: aclfs chflags uchg plans"),
        ("uappnd", "can only grow: aclfs chflags uappnd log"),
        ("nodump", "left out of backups: aclfs chflags nodump build"),
        ("opaque", "no effect, kept for macOS: aclfs chflags opaque folder"),
        ("hidden", "hidden by the Finder of macOS: aclfs chflags hidden notes"),
        ("schg", "as uchg, set and cleared by root: aclfs chflags schg plans"),
        ("sappnd", "as uappnd, set and cleared by root: aclfs chflags sappnd log"),
        ("sunlnk", "not removed or renamed, set by root: aclfs chflags sunlnk plans"),
        ("arch", "no effect, set by root: aclfs chflags arch plans"),
    ]
}
