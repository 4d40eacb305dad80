import Foundation
import TestSupport
import Testing

/// Programs that copy again and again (a nightly mirror, a migration in several passes) leave the same lists as from one native directory to
/// another, in every run (docs/decisions/0031-what-posix-acls-say.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct CopierMatrixTests {
    private let fixture: MountFixture
    /// Without aclfs: `src` and `ext`, and the programs' own files.
    private let native: ScratchDirectory

    init() throws {
        fixture = try MountFixture()
        let (back, other) = (fixture.top + "/private/back", fixture.top + "/other")
        for path in [back, other] { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
        try fixture.mount(of: back, at: other)
        native = try ScratchDirectory("native", in: "/var/tmp")
    }

    private func run(_ script: String, _ arguments: String...) throws {
        let words = [
            "bash", "-uc", Self.prelude + script, "bash", MountTesting.program("aclfs"), native.path, fixture.mountpoint,
            fixture.top + "/other",
        ]
        let result = try Spawn.run(words + arguments)
        #expect(result.output == "", "\(result)")
    }

    /// What is wrong is printed. `denied` is the user whom entries deny; `posix`, `entries` and `reads` print what a tree has.
    private static let prelude = #"""
        A=$1 N=$2 M=$3 O=$4; shift 4; export LC_ALL=C HOME=$N/home RESTIC_PASSWORD=secret TZ=UTC
        umask 022; chmod 755 "$N"; cd "$N"; mkdir home; denied=1504
        as() { if [ "$U" = 0 ]; then "$@"; else setpriv --reuid="$U" --regid="$U" --clear-groups "$@"; fi; }
        reads() { (cd "$1"; find . -type f | sort | setpriv --reuid=$denied --regid=$denied --clear-groups bash -c '
            while read -r f; do { : <"$f"; } 2>/dev/null && echo "$f read" || echo "$f refused"; done'); }
        posix() { (cd "$1"; find . | sort | xargs stat -c '%n %a'; find . | sort | xargs getfacl -n); }
        # Without the entry that keeps a mask: a copy by both ways may have it.
        entries() { (cd "$1"; find . | sort | xargs getfattr -e text -n system.aclfs.acl 2>/dev/null | sed 's/\\012/\n/g; s/"//g' |
            grep -v -e '^$' -e ' inherited' -e CDEFFFFFFFFE); }
        same() { diff "$1" "$2" >differs || { echo "$3:"; cat differs; }; }
        fill() {
            (cd "$1"; mkdir d d/sub both plain; for f in deny rw mask none d/x both/y plain/z; do echo $f >$f; done
            setfacl -m u:$denied:---,u:1501:rw deny; setfacl -m u:1501:rw,g:1600:r rw; setfacl -m u:1501:rw,m::r mask
            setfacl -d -m u:1503:rwx d; setfacl -m u:$denied:---,g:1600:rwx both; setfacl -d -m u:$denied:r-x,o::- both)
        }

        """#

    /// XFS lists its own form of POSIX ACLs to root, which -X copies beside -A.
    @Test(.enabled(if: isInstalled("mkfs.xfs") && isInstalled("rsync"), "needs mkfs.xfs and rsync"))
    func rsyncFromXFS() throws {
        try run(
            #"""
            truncate -s 320M image; mkfs.xfs -q image; mkdir src; mount -o loop image src; trap 'cd /; umount -l "$N/src"' EXIT
            chmod 755 src; fill src
            for options in -aAX -aX; do
                mkdir "$M/to"
                for run in 1 2 3; do
                    rsync $options src/ "$M/to/" >said 2>&1 || { echo "rsync $options, run $run: $?"; cat said; }
                    # Without -A what is made in a directory inherits its default ACL, as on XFS.
                    [ $options = -aX ] || { posix src >want; posix "$M/to" >got; same want got "rsync $options, run $run"; }
                    reads src >want; reads "$M/to" >got; same want got "rsync $options, run $run, $denied"
                done
                getfattr -d -m SGI --absolute-names "$M/to/deny" 2>&1
                rm -r "$M/to"
            done
            """#)
    }

    /// From a native directory to a native one and to a mount, plain and with inheritable entries. Afterwards the source changes.
    private static let toMount = #"""
        for options in $2; do for to in plain heir; do
            U=$1; options=${options#-}; rm -rf src ext "$M/to"; mkdir src ext "$M/to"; fill src; chown -R $U:$U src ext "$M/to"
            if [ $to = heir ]; then
                "$A" chmod +a "user:$denied allow read,execute,list,search,readattr,file_inherit" "$M/to"
                "$A" chmod +a 'group:1700 allow read,readattr,file_inherit' "$M/to"
            fi
            for run in $3; do
                as rsync -a$options src/ ext/ >said 2>&1; status=$?
                as rsync -a$options src/ "$M/to/" >said 2>&1 || [ $? = $status ] || { echo "$U -a$options $to, run $run:"; cat said; }
                # Without -A a copy in a directory with inheritable entries has what these say.
                case $to$options in plain* | heir*A*) reads ext >want; reads "$M/to" >got; same want got "$U -a$options $to, run $run, reads";; esac
                posix ext >want; posix "$M/to" >got
                [ $to = heir ] || same want got "$U -a$options, run $run"
                if [ $to$run = plain1 ]; then as rsync -a$options --dry-run -i src/ "$M/to/"; fi
                case $run in
                2) echo new >src/deny; setfacl -m u:$denied:---,u:1502:r src/rw ;;
                3) setfacl -b src/mask; setfacl -x u:1501 src/deny ;;
                esac
            done
        done; done
        """#

    /// Lists of every kind from mount to mount, and by way of a native directory.
    private static let fromMount = #"""
        for options in $2; do
            U=$1; rm -rf ext "$M/"* "$O/"*; mkdir ext "$M/src" "$O/to" "$O/back"; fill "$M/src"; cd "$M/src"
            for f in noform formed marked; do echo $f >$f; done; mkdir inherits default
            "$A" chmod +a "user:$denied deny read" noform; "$A" chmod +a 'user:1501 allow read,write,delete' noform
            # Means the same as a POSIX ACL, and was not set as one.
            "$A" chmod +a "user:$denied deny read,readextattr" formed
            setfacl -m u:$denied:--- marked
            setfattr -n system.aclfs.acl -v "$(echo '!#acl 1 no_inherit'; getfattr --only-values -n system.aclfs.acl marked)" marked
            "$A" chmod +a "user:$denied deny read,file_inherit,directory_inherit" inherits; echo i >inherits/i
            "$A" chmod +a 'user:1503 allow delete' inherits/i
            setfacl -m u:1501:rwx default; setfacl -d -m u:$denied:--- default; "$A" chmod +a# 0 'user:1502 deny delete' default
            cd "$N"; chown -R $U:$U ext "$M/src" "$O/to" "$O/back"
            entries "$M/src" >entries; posix "$M/src" >posix; reads "$M/src" >reads
            for run in $3; do
                for way in "$M/src/ $O/to/" "$M/src/ ext/" "ext/ $O/back/"; do
                    as rsync -a${options#-} $way >said 2>&1 || { echo "$U $options $way, run $run:"; cat said; }
                done
                [ "$options" = -AX ] || continue
                for copy in to back; do
                    entries "$O/$copy" >got; same entries got "$U $copy, run $run, entries"
                    posix "$O/$copy" >got; same posix got "$U $copy, run $run"
                    reads "$O/$copy" >got; same reads got "$U $copy, run $run, reads"
                done
            done
        done
        """#

    private static let options = MountTesting.isLong ? "- -A -X -AX" : "-AX"

    @Test(.enabled(if: isInstalled("rsync")), arguments: ["0", "1501"]) func rsyncFromANativeDirectory(_ user: String) throws {
        try run(Self.toMount, user, Self.options, MountTesting.isLong ? "1 2 3 4" : "1 2 3")
    }

    @Test(.enabled(if: isInstalled("rsync")), arguments: ["0", "1501"]) func rsyncOfListsOfEveryKind(_ user: String) throws {
        try run(Self.fromMount, user, Self.options, MountTesting.isLong ? "1 2 3 4" : "1 2")
    }

    /// Between the calls of a run, too, a denied user reads nothing.
    @Test(.enabled(if: isInstalled("rsync"))) func noRunOpensForAMoment() throws {
        try run(
            #"""
            mkdir src "$M/plain" "$M/heir"
            "$A" chmod +a "user:$denied allow read,readattr,file_inherit" "$M/heir"; "$A" chmod +a "user:$denied allow list,search" "$M/heir"
            echo x >src/secret; setfacl -m u:$denied:---,u:1501:rw src/secret
            for to in plain heir; do rsync -aAX src/ "$M/$to/"; done
            setpriv --reuid=$denied --regid=$denied --clear-groups bash -c 'trap exit TERM; while :; do
                for to in plain heir; do { read -r line <"$0/$to/secret"; } 2>/dev/null && echo "$to was read"; done; done' "$M" & reader=$!
            for run in 1 2 3 4 5 6; do touch src/secret; for to in plain heir; do rsync -aAX src/ "$M/$to/"; rsync -aAX src/ "$M/$to/"; done; done
            kill $reader; wait $reader
            """#)
    }

    private static let others = ["cp", "tar", "bsdtar", "borg", "restic", "unison", "rclone"]

    @Test(.enabled(if: MountTesting.isLong, "many programs"), arguments: others.filter(isInstalled)) func otherPrograms(_ program: String)
        throws
    {
        try run(
            #"""
            copy() { # FROM TO
                case $program in
                cp) cp -a $1/. $2/ ;;
                tar) tar --acls --xattrs -C $1 -cf - . | tar --acls --xattrs -C $2 -xpf - ;;
                bsdtar) bsdtar -C $1 --format=pax -cf - . | bsdtar -C $2 -xpf - ;;
                borg) rm -rf repo; borg init -e none repo; (cd $1; borg create "$N/repo::x" .); (cd $2; borg extract "$N/repo::x") ;;
                restic) rm -rf repo; restic -q -r repo init; (cd $1; restic -q -r "$N/repo" backup .); restic -q -r repo restore latest --target $2 ;;
                unison) rm -rf home/.unison; unison $1 $2 -batch -force $1 -perms -1 -ui text -silent -logfile /dev/null ;;
                rclone) rclone -q sync --metadata $1 $2 ;;
                esac
            }
            program=$1; mkdir src ext "$M/to"; fill src
            for run in 1 2 3; do
                copy src ext >said 2>&1; status=$?
                copy src "$M/to" >said 2>&1 || [ $? = $status ] || { echo "run $run:"; cat said; }
                posix ext >want; posix "$M/to" >got; same want got "run $run"
                reads ext >want; reads "$M/to" >got; same want got "run $run, reads"
                if [ $run = 2 ]; then setfacl -m u:$denied:---,u:1502:r src/rw; setfacl -b src/mask; fi
            done
            """#, program)
    }
}
