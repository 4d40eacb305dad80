/// What `aclfs ls --help` prints.
enum LsHelp {
    static let text = """
        \(LsArguments.usage)

          -l                   mode, links, owner, group, size and time
          -e                   entries of lists, with -l: aclfs ls -le plans
          -O                   file flags, with -l: aclfs ls -lO plans
          -@                   extended attributes, with -l: aclfs ls -l@ plans
          -d, --directory      a directory itself: aclfs ls -led folder
          -a, --all            names that begin with a dot; -A without . and ..
          -n                   numbers and UUIDs instead of names; implies -l
          -h, --human-readable sizes with units: aclfs ls -lh folder
          -t                   most recently modified first
          -S                   largest first
          -r, --reverse        reversed: aclfs ls -ltr folder
          -R, --recursive      also all below: aclfs ls -leR folder
          -L, --dereference    the targets of links
          -1                   one name a line (always so)
        """
}
