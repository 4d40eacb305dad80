#!/bin/sh
# A tour of the model on a mount of its own: what an entry allows, what one refuses, what a flag stops, and why.
# Every command is printed before its output. Exit: 0 all as promised, 1 something was not, 2 it cannot run here.
# ACLFS names the program (default: aclfs on PATH).
set -eu

aclfs=${ACLFS:-aclfs}
say() { printf '%s\n' "$*" >&2; }

command -v "$aclfs" >/dev/null 2>&1 || { say "tour: $aclfs: not found"; exit 2; }
if [ "$(id -u)" -ne 0 ]; then
    # Only root may run a command as another user.
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        exec sudo -n env ACLFS="$aclfs" "$0" "$@"
    fi
    say 'tour: run it as root, because it reads files as an unprivileged user too'
    exit 2
fi
command -v setpriv >/dev/null 2>&1 || { say 'tour: setpriv (util-linux) is missing'; exit 2; }
[ -e /dev/fuse ] || { say 'tour: there is no /dev/fuse here (in a container: --device /dev/fuse --cap-add SYS_ADMIN)'; exit 2; }

top=$(mktemp -d)
# The mount is open to all; the backing directory lies below a directory that only root may search.
chmod 0755 "$top"
install -d -m 0700 "$top/back"
install -d -m 0755 "$top/back/share" "$top/share"
back=$top/back/share
share=$top/share
wrong=0

mounted() { grep -qsF " $share fuse" /proc/self/mounts; }

finish() {
    status=$?
    trap - EXIT HUP INT TERM
    cd /
    if mounted; then
        "$aclfs" unmount "$share" 2>/dev/null || umount "$share" 2>/dev/null || umount -l "$share" || :
    fi
    # Never remove through a mount that would not go.
    if mounted; then say "tour: $share is still mounted"; exit 1; fi
    rm -rf -- "$top"
    exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

title() { printf '\n# %s\n' "$*"; }

# Prints a command as one would type it, aclfs by its plain name, then runs it with its errors among its output.
run() {
    printf '$'
    for word in "$@"; do
        [ "$word" = "$aclfs" ] && word=aclfs
        case $word in
        *[!A-Za-z0-9_/.,:=+-]*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$@" 2>&1
}

allowed() {
    code=0
    run "$@" || code=$?
    [ "$code" -eq 0 ] || { say "tour: this should have been allowed (exit $code)"; wrong=1; }
}

denied() {
    code=0
    run "$@" || code=$?
    [ "$code" -ne 0 ] || { say 'tour: this should have been refused'; wrong=1; }
}

nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'

title 'A directory, served with the model of macOS'
run "$aclfs" mount "$back" "$share" || { say 'tour: the mount failed'; exit 1; }
mounted || { say "tour: $share is not mounted"; exit 1; }
grep -F " $share fuse" /proc/self/mounts | cut -c 1-110
printf 'plans\n' >"$share/plans"
printf 'notes\n' >"$share/notes"
printf 'ledger\n' >"$share/ledger"

title 'An entry allows what the mode refuses'
allowed chmod 0600 "$share/plans"
# shellcheck disable=SC2086  # a command and its options
{
    denied $nobody cat "$share/plans"
    allowed "$aclfs" chmod +a 'user:nobody allow read' "$share/plans"
    allowed $nobody cat "$share/plans"
}

title 'An entry refuses what the mode allows'
allowed chmod 0644 "$share/notes"
allowed "$aclfs" chmod +a 'user:nobody deny read' "$share/notes"
# shellcheck disable=SC2086
denied $nobody cat "$share/notes"

title 'A flag stops even root'
allowed "$aclfs" chflags uchg "$share/ledger"
denied rm -f "$share/ledger"
[ -e "$share/ledger" ] || { say 'tour: the ledger is gone'; wrong=1; }
allowed "$aclfs" chflags nouchg "$share/ledger"

title 'And why'
code=0
run "$aclfs" explain --as nobody open-read "$share/notes" || code=$?
[ "$code" -eq 1 ] || { say "tour: explain should have answered no with exit 1, not $code"; wrong=1; }

exit "$wrong"
