import Glibc
import TestSupport
import Testing

/// Callers in a user namespace of their own, and users with many uids (docs/reference/identity.md "Callers in another user namespace", "Subordinate ids").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct UserNamespaceTests {
    /// Runs a script with mallory and bert, who have subordinate ids.
    private func run(_ script: String) throws {
        for program in SubordinateAccounts.programs where access(program, X_OK) != 0 {
            return print("UserNamespaceTests did not run: \(program) is missing")
        }
        let result = try MountNamespace().run(SubordinateAccounts.prelude + script)
        #expect(result.output == "done", "\(result)")
    }

    @Test func deniesHoldForWhoLeavesGroupsInANamespaceOfOnesOwn() throws {
        try run(
            #"""
            $A mount "$T/back" "$T/mnt" 2>"$T/log" || cat "$T/log"
            chmod 755 "$T/mnt"
            cd "$T/mnt"; all='crew payroll mallory allowed grouped plain'
            for f in $all; do echo x >$f; chmod 644 $f; done
            $A chmod +a 'group:crew deny read' crew; $A chmod +a 'group:payroll deny read' payroll
            $A chmod +a 'user:mallory deny read' mallory
            chmod 600 allowed; $A chmod +a 'group:crew allow read' allowed
            chgrp crew grouped; chmod 604 grouped
            cat >"$T/read.sh" <<'END'
            for f in crew payroll mallory allowed grouped plain; do cat $f >/dev/null 2>&1 && printf '%s ' $f; done; echo
            END
            is 'bert' "$(runuser -u bert -- sh "$T/read.sh")" 'payroll mallory allowed plain '
            is 'mallory' "$(runuser -u mallory -- sh "$T/read.sh")" 'payroll allowed plain '
            # Who has left the group may not be denied as its member, and not be allowed as one.
            is 'own uid' "$(as_mallory groups 0 $all)" 'plain '
            is 'subordinate uid' "$(as_mallory groups 8 $all)" 'plain '
            # Groups that are still there count.
            is 'mapped' "$(runuser -u mallory -- unshare --map-users=auto --map-groups=auto sh "$T/read.sh")" 'allowed plain '
            # Where nobody can leave groups all is as outside: one's own ids alone, as sandboxes of programs have them.
            is 'single' "$(runuser -u mallory -- unshare -r sh "$T/read.sh")" 'payroll allowed plain '
            is 'nested' "$(runuser -u mallory -- unshare -r sh -c "unshare -r sh $T/read.sh; :")" 'payroll allowed plain '
            # Who nests more of them chooses how long others wait for the answer: it is unknown.
            echo '[ $1 != 0 ] || exec sh '"$T"'/read.sh; unshare -r sh '"$T"'/deep.sh $(($1 - 1)); :' >"$T/deep.sh"
            is 'four' "$(runuser -u mallory -- sh "$T/deep.sh" 4)" 'payroll allowed plain '
            is 'five' "$(runuser -u mallory -- sh "$T/deep.sh" 5)" 'allowed plain '
            # Nobody is left in the one in between, who could tell what it allows.
            is 'unseen' "$(runuser -u mallory -- unshare -r unshare -r sh "$T/read.sh")" 'allowed plain '
            # One's own ids alone, within a namespace where groups were left.
            is 'hidden' "$(as_mallory run 0 sh -c "unshare -r sh $T/read.sh; :")" 'plain '
            # As a subordinate uid without a namespace: a set-uid program.
            first=$(grep mallory /etc/subuid | cut -d: -f2)
            is 'set-uid' "$(setpriv --reuid $first --regid 5501 --groups 5600 sh "$T/read.sh")" 'payroll allowed plain '
            # Others' ranges are others.
            second=$(grep bert /etc/subuid | cut -d: -f2)
            is 'of another' "$(setpriv --reuid $second --regid 5502 --groups 5600 sh "$T/read.sh")" 'payroll mallory allowed plain '
            # Root's containers may act as ids that nobody is; root is denied nothing.
            echo "root:$first:65536" >/etc/subuid; sleep 1.1
            is 'of root' "$(setpriv --reuid $first --regid 5501 --groups 5600 sh "$T/read.sh")" 'payroll mallory allowed plain '
            cd /; $A unmount "$T/mnt"
            """#)
    }

    @Test func aDaemonInAUserNamespaceKnowsItsCallers() throws {
        try run(
            #"""
            # Without udev the device is for root alone.
            mknod -m 666 "$T/fuse" c 10 229; mount --bind "$T/fuse" /dev/fuse
            # Root of the namespace is mallory outside of it; id 8 has a group.
            cat >"$T/serve.sh" <<'END'
            mount -t tmpfs tmpfs "$T/back" && mkdir "$T/back/s" "$T/back/m" && chmod 755 "$T/back"
            "$A" mount "$T/back/s" "$T/back/m" 2>&1 | grep -o 'this root may not write trusted.aclfs' | tr '\n' ' '
            "$A" status "$T/back/m" | grep -o 'metadata in user.aclfs' | tr '\n' ' '
            cd "$T/back/m"
            for f in left kept; do echo x >$f; chmod 644 $f; done
            "$A" chmod +a 'group:#30 deny read' left; "$A" chmod +a 'group:#31 deny read' kept
            for f in left kept; do setpriv --reuid 8 --regid 8 --groups 30 cat $f >/dev/null 2>&1 && printf '%s ' $f; done
            setpriv --reuid 8 --regid 8 --groups 30 unshare -r cat kept
            cd /; "$A" unmount "$T/back/m"
            END
            echo root:300000:65536 | tee -a /etc/subuid >>/etc/subgid
            export T A; chmod 755 "$T/back"; chown 300000 "$T/back"
            is 'inside' "$(unshare -m --map-users=300000,0,65536 --map-groups=300000,0,65536 -S 0 -G 0 sh "$T/serve.sh" 2>"$T/log")" 'this root may not write trusted.aclfs metadata in user.aclfs kept x'
            rm -rf /tmp/aclfs-300000
            """#)
    }

    @Test func aUserWithManyUidsHoldsTheHandlesOfOne() throws {
        try run(
            #"""
            prlimit --nofile=512:512 -- $A mount "$T/back" "$T/mnt" 2>"$T/log" || cat "$T/log"
            chmod 755 "$T/mnt"
            echo x >"$T/mnt/f"; chmod 644 "$T/mnt/f"
            mkfifo "$T/end"; as_mallory hold 20 "$T/mnt" <"$T/end" >"$T/held" & exec 7>"$T/end"
            wait_for_held
            held=$(cat "$T/held"); [ "$held" -ge 100 ] || echo "mallory holds only $held"
            is 'of bert' "$(runuser -u bert -- /usr/bin/python3 -c '
            import os, sys
            print(len([os.open(sys.argv[1], os.O_RDONLY) for _ in range(20)]))' "$T/mnt/f")" 20
            exec 7>&-; wait; $A unmount "$T/mnt"
            """#)
    }

    @Test func aUserWithManyUidsHasTheConnectionsOfOne() throws {
        try run(
            #"""
            $A mount "$T/back" "$T/mnt" 2>"$T/log" || cat "$T/log"
            chmod 755 "$T/mnt"
            mkfifo "$T/end"; as_mallory ask 20 /run/aclfs/*.sock <"$T/end" >"$T/held" & exec 7>"$T/end"
            wait_for_held
            # Eight at a time; those that end meanwhile make room. As persons the uids would have 64.
            held=$(cat "$T/held"); [ "$held" -ge 1 ] && [ "$held" -le 24 ] || echo "mallory has $held connections"
            is 'of bert' "$(runuser -u bert -- $A explain stat "$T/mnt" 2>&1 | tail -1)" allowed
            exec 7>&-; wait; $A unmount "$T/mnt"
            """#)
    }
}
