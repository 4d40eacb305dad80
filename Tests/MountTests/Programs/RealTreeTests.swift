import Testing

/// Everyday programs at work as an ordinary user: the same result on the mount as on the file system below.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct RealTreeTests {
    @Test(.enabled(if: isInstalled("make") && isInstalled("cc"), "no make or no cc (apt install build-essential)"))
    func building() throws {
        let said = try RealTree().expectSame(
            #"""
            tar -xf "$SOURCES"
            cat >Makefile <<'END'
            objects := $(patsubst %.c,%.o,$(wildcard */*.c))
            all: program library.a
            %.o: %.c $(wildcard */*.h)
            	cc -O0 -w -D_GNU_SOURCE -c -o $@ $<
            program: $(filter ActAs/%,$(objects))
            	cc -o $@ $^
            library.a: $(filter RaceClient/%,$(objects))
            	ar rcD $@ $^
            END
            make -s -j2
            echo "objects: $(ls */*.o | wc -l)"
            ./program 2>&1 || echo "exit $?"
            echo "again: $(make -n | grep -c ' -c ' || :)"
            sleep 0.1; touch ActAs/act.c
            echo "after a change: $(make -n | grep -c ' -c ')"
            tree .
            """#, saying: "exit 2")
        #expect(said.contains("again: 0\nafter a change: 1"))
    }

    @Test(.enabled(if: isInstalled("git"), "no git (apt install git)"))
    func versionControl() throws {
        try RealTree().expectSame(
            #"""
            export GIT_AUTHOR_DATE='2026-01-02T03:04:05Z' GIT_COMMITTER_DATE='2026-01-02T03:04:05Z'
            git init -q -b main repo; cd repo
            git config user.name Alice; git config user.email alice@example.org
            for i in $(seq 60); do mkdir -p d$((i % 7)); echo $i >d$((i % 7))/f$i; done
            ln -s d1 link; chmod +x d1/f1
            git add .; git commit -qm one; git branch old
            git mv d2 moved; echo more >>d1/f1; git commit -qam two
            echo wip >>d3/f3; git stash -q; git checkout -q old; test ! -e moved; git checkout -q main; git stash pop -q
            git commit -qam three
            git worktree add -q ../worktree old; echo there >../worktree/new; git -C ../worktree add new
            git -C ../worktree commit -qm four; git worktree remove ../worktree; git merge -q old -m five
            git gc -q --prune=now; git fsck --full 2>&1
            git clone -q . ../near; git clone -q "file://$PWD" ../far; (cd ../far; echo x >y; git clean -qfd)
            for r in . ../near ../far; do git -C $r rev-parse HEAD; git -C $r status --porcelain; git -C $r ls-files -s | sha256sum; done
            git log --format='%H %s'; git count-objects
            rm -rf ../near ../far/.git .git; tree ..
            """#, saying: "three")
    }

    @Test(.enabled(if: isInstalled("rsync"), "no rsync (apt install rsync)"))
    func synchronizing() throws {
        try RealTree().expectSame(
            #"""
            \#(Self.attributedTree)
            out=$(dirname "$SOURCES")/native/out-$(basename "$D"); mkdir "$out" in
            # Into this directory, within it, and out of it to the file system below.
            rsync -aX tree/ in/one/; rsync -aHX --delete in/one/ in/two/; rsync -aX in/two/ "$out/"
            for copy in in/one in/two "$out"; do
                echo "differs: $(rsync -naiXc --delete tree/ "$copy/" | wc -l)"
                (cd "$copy"; getfattr -R -h -d -m '^user\.' . | sha256sum); tree "$copy"
            done
            echo changed >>tree/f; rm tree/d/empty; rsync -aiX --delete tree/ in/one/
            rm -rf "$out"
            """#, saying: "differs: 0")
    }

    @Test func archives() throws {
        try RealTree().expectSame(
            #"""
            \#(Self.attributedTree)
            with="--xattrs --xattrs-include=user.*"
            out=$(dirname "$SOURCES")/native/out-$(basename "$D"); mkdir -p in "$out"
            tar $with -C tree -cf tree.tar .; tar $with -C in -xpf tree.tar
            tar $with -C in -cf - . | tar $with -C "$out" -xpf -
            tar -C in -df tree.tar && echo 'as archived'
            for copy in in "$out"; do (cd "$copy"; getfattr -R -h -d -m '^user\.' . | sort); tree "$copy"; done
            tar -tvf tree.tar | sed 's/ 20[0-9-]* [0-9:]* / /' | sort
            rm -rf "$out"
            """#, saying: "as archived")
    }

    @Test func findingAndCopying() throws {
        try RealTree().expectSame(
            #"""
            \#(Self.attributedTree)
            touch -d '2026-01-01 12:00:00.5' mark; touch -d '2026-01-01 12:00:00.6' tree/f
            touch -d '2026-01-01 12:00:00.4' tree/d/g
            touch -d '2026-01-02' tree/d/empty
            echo "newer: $(find tree -type f -newer mark | sort | tr '\n' ' ')"
            cp -a tree copy; diff -r --no-dereference -x fifo tree copy; cp -al copy linked; cp --sparse=always -a tree/sparse s2
            echo "links: $(stat -c %h linked/f) $(stat -c '%s' s2)"
            mv copy/d copy/e; mv copy/e/g copy/g; ln -sf g copy/link; tree copy
            find linked -type f -links +1 | sort; find linked -delete; test ! -e linked
            split -b 1000 -d "$SOURCES" part.; cat part.* | cmp - "$SOURCES"; sort -r -o tree/f tree/f
            du -a --apparent-size tree | awk '$2 !~ /\/d$|tree$/' | sort -k2
            """#, saying: "newer: tree/d/empty tree/f tree/hard")
    }

    @Test(.enabled(if: isInstalled("vim"), "no vim (apt install vim)"))
    func editors() throws {
        try RealTree().expectSame(
            #"""
            seq 100 >f; chmod 640 f; before=$(stat -c %i f)
            sed -i 's/^7$/seven/' f; [ "$(stat -c %i f)" != $before ] && echo 'another object'
            vim -N -es -u NONE -i NONE -c 'set backupskip=' -c '%s/^8$/eight/' -c 'wq' f </dev/null; stat -c '%a %u %g %s' f
            vim -es -u NONE -i NONE -c 'set backup backupcopy=yes' -c '%s/^9$/nine/' -c 'wq' f </dev/null
            grep -n e f; perl -pi -e 's/^6$/six/' f 2>/dev/null || sed -i 's/^6$/six/' f; tree .
            """#, saying: "another object")
    }

    /// Locks, a journal beside the file, and memory that two processes share.
    @Test(.enabled(if: isInstalled("python3 && python3 -c 'import sqlite3'"), "no python3 with sqlite3 (apt install python3)"))
    func databases() throws {
        try RealTree().expectSame(
            #"""
            cat >work.py <<'END'
            import sqlite3, sys
            base = sqlite3.connect("base", timeout=60, isolation_level=None)
            if sys.argv[1] == "make":
                print(base.execute("pragma journal_mode=wal").fetchone())
                base.execute("create table t (who text, number integer)")
            elif sys.argv[1] == "check":
                print(base.execute("select who, count(*), sum(number) from t group by who order by who").fetchall())
                print(base.execute("pragma integrity_check").fetchone(), base.execute("pragma wal_checkpoint(truncate)").fetchone()[0])
            else:
                base.execute("pragma synchronous=off")
                for number in range(300):
                    base.execute("begin immediate")
                    base.execute("insert into t values (?, ?)", (sys.argv[1], number))
                    base.execute("commit")
            END
            python3 work.py make; python3 work.py a & python3 work.py b; wait $!; python3 work.py check
            rm work.py; ls
            """#, saying: "('ok',) 0")
    }

    /// Kinds, modes, times, links, holes and attributes.
    private static let attributedTree = #"""
        mkdir -p tree/d/deep; seq 2000 >tree/f; echo text >tree/d/g; : >tree/d/empty; ln -s ../f tree/d/link; ln tree/f tree/hard
        truncate -s 300K tree/sparse; chmod 600 tree/d/g; chmod 755 tree/f; chmod 2750 tree/d/deep; mkfifo tree/fifo
        setfattr -n user.note -v "a note" tree/f; setfattr -n user.com.apple.test -v 0x00ff tree/d
        touch -h -d '2001-02-03 04:05:06.789' tree/d/link tree/d/g tree/fifo; touch -d '2001-02-03' tree/f tree/sparse tree/d/empty tree/d tree
        """#
}
