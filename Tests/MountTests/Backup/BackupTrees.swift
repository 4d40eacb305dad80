/// A tree whose names attack patterns, made twice: on the mount with everything, elsewhere without what is excluded.
enum BackupTrees {
    /// `$M` is the place on the mount, `$E` what a backup should hold, `$ACLFS` the program. `drop NAME` makes an
    /// excluded file, `keep NAME` one that a careless pattern for it would hit. Names go through printf.
    static func script(newlines: Bool, links: Bool) -> String {
        functions + names + (newlines ? newlineNames : "") + (links ? linkNames : "")
            + "\n\"$ACLFS\" backup exclude \"${excluded[@]}\"\n"
    }

    private static let functions = #"""
        set -eu
        excluded=()
        mkdir -p "$M" "$E"
        new() { [ -d "${1%/*}" ] || mkdir -p "${1%/*}"; echo data >"$1"; }
        keep() { printf -v name -- "$1"; new "$M/$name"; new "$E/$name"; }
        drop() { printf -v name -- "$1"; new "$M/$name"; excluded+=("$M/$name"); }

        """#

    private static let names = #"""
        for n in plain 'two words' ' lead' 'trail ' 'tab\t' 'nbsp\302\240' 'a*b' 'c?d' '[ef]' '{g,h}' '**' '***' '*' \
            '\\*lit' 'back\\slash' 'end\\' '#hash' ';semi' '!bang' '$HOME' '$$' '- minus' '+ plus' '-dash' '--' '~' \
            'q\047"' 're:.*' 'pf:x' 'percent%%n' 'gr\303\266\303\237e' 'bad\377' 'bad\377*' 'bad\377 ' '\344' \
            'ctl\001\033' 'esc\\x41' 'bidi\342\200\256x' '[!i]' 'j]' '[a-' '^k' 'l$' 'm.n' '(o)' 'p|q' 'r+' '%%40' ',' ; do
            drop "$n"
            keep "deep/$n"
            keep "deep/er/$n"
            keep "x$n"
            keep "${n}x"
        done
        for n in trail tab aXb ab cXd cd e f g h lit XXlit backslash 'back\\\\slash' hash '#hash ' ' #hash' semi bang \
            HOME minus plus dash home mXn o p q rr 'bad' 'badX' 'escA' nbsp 'nbsp ' 'trail  ' i X end k l 'PLAIN' '.plain' \
            'two' 'words' 'two  words' 'lead' 'plain.' 'a\\*b' 'c\\?d' '\\[ef]' '@' ; do
            keep "$n"
        done
        # A directory goes with all that is below it; so does one deeper, but not its neighbours.
        drop 'd*r/inside'; keep 'dXr/inside'; excluded+=("$M/d*r"); keep 'dr/inside'
        mkdir -p "$M/deep/o [ut]/a/b"; echo data >"$M/deep/o [ut]/a/b/c"; excluded+=("$M/deep/o [ut]")
        keep 'o [ut]/a'; keep 'deep/o u/a'
        drop 'deep/only here'; keep 'only here'
        ln -s nowhere "$M/link"; ln -s nowhere "$E/link"
        """#

    private static let newlineNames = #"""

        drop 'new\nline'; keep 'new'; keep 'line'; keep 'new line'
        drop '\nfirst'; keep 'first'
        drop 'last\n'; keep 'last'
        drop 'one\n/plainx'; keep 'one\n/kept'
        drop 'cr\r'; keep 'cr'; drop 'cr\rcr'
        """#

    /// The kernel lets no program ask a link for its flags, so only lists leave links out.
    private static let linkNames = #"""

        ln -s nowhere "$M/out"; excluded+=("$M/out"); keep 'out*'
        """#
}
