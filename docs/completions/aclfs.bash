# bash completion for aclfs(1)
# Made by "make completions" from aclfs --help and docs/completions/sources/aclfs.bash. Change these, not this file.

# The words of the line up to the cursor, without their quotes, to _aclfs_line. _aclfs_quote is the quote that is open, or empty.
_aclfs_split() {
    local text=${COMP_LINE:0:COMP_POINT} character word= begun= index
    _aclfs_line=() _aclfs_quote=
    for ((index = 0; index < ${#text}; index++)); do
        character=${text:index:1}
        if [[ $_aclfs_quote ]]; then
            if [[ $character == "$_aclfs_quote" ]]; then _aclfs_quote=; else word+=$character; fi
            continue
        fi
        case $character in
        [\"\']) _aclfs_quote=$character begun=1 ;;
        \\) index=$((index + 1)) word+=${text:index:1} begun=1 ;;
        [[:blank:]])
            [[ $begun ]] && _aclfs_line+=("$word")
            word= begun= ;;
        *) word+=$character begun=1 ;;
        esac
    done
    _aclfs_line+=("$word")
}

# Offers those of the arguments behind the second that begin with the second, each behind the first, which stands there already.
_aclfs_offer() {
    local before=$1 start=$2 word
    shift 2
    for word; do [[ $word == "$start"* ]] && COMPREPLY+=("$before$word"); done
}
_aclfs_words() { # WORDS CURRENT
    local -a words
    read -ra words -d '' <<<"$1"
    _aclfs_offer '' "$2" "${words[@]}"
}
# The same for a list with commas: words that stand in it already are not offered again.
_aclfs_list() { # WORDS CURRENT BEFORE
    local before= word
    local -a words left=()
    read -ra words -d '' <<<"$1"
    [[ $2 == *,* ]] && before=${2%,*},
    for word in "${words[@]}"; do [[ ,$before == *,$word,* ]] || left+=("$word"); done
    _aclfs_offer "${3-}$before" "${2##*,}" "${left[@]}"
    compopt -o nospace 2>/dev/null
}
_aclfs_files() { # CURRENT KIND
    compopt -o filenames 2>/dev/null
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "${2:--f}" -- "$1")
}
_aclfs_mounts() {
    local -a mounts
    mapfile -t mounts < <(awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g' | while read -r path; do printf '%b\n' "$path"; done)
    _aclfs_offer '' "$1" "${mounts[@]}"
}
_aclfs_profiles() {
    local -a profiles
    mapfile -t profiles < <(aclfs sandbox list 2>/dev/null | awk '$1 !~ /^\// && $2 ~ /^\// { sub(/:$/, "", $1); print $1 }')
    _aclfs_offer "${2-}" "$1" "${profiles[@]}"
}
_aclfs_users() { mapfile -t _aclfs_names < <(compgen -u); }
_aclfs_groups() { mapfile -t _aclfs_names < <(compgen -g); }

# USER[:GROUP,...]
_aclfs_subject() {
    local -a _aclfs_names
    if [[ $1 == *:* ]]; then
        _aclfs_groups
        _aclfs_list "${_aclfs_names[*]}" "${1#*:}" "${1%%:*}:"
    else
        _aclfs_users
        _aclfs_offer '' "$1" "${_aclfs_names[@]}"
        compopt -o nospace 2>/dev/null
    fi
}

# WHO [inherited] allow|deny WORD,WORD..., with blanks or colons between.
_aclfs_entry() {
    local -a _aclfs_names
    compopt -o nospace 2>/dev/null
    if [[ $1 =~ ^(.*[\ :](allow|deny)[\ :])([^\ :]*)$ ]]; then
        _aclfs_list "$_aclfs_entry_words" "${BASH_REMATCH[3]}" "${BASH_REMATCH[1]}"
        return
    fi
    if [[ $1 =~ ^(user:)([^\ :]*)$ ]]; then
        _aclfs_users
        _aclfs_offer user: "${BASH_REMATCH[2]}" "${_aclfs_names[@]}"
    elif [[ $1 =~ ^(group:)([^\ :]*)$ ]]; then
        _aclfs_groups
        _aclfs_offer group: "${BASH_REMATCH[2]}" "${_aclfs_names[@]}"
    elif [[ $1 =~ ^(.*[\ :])([^\ :]*)$ ]]; then
        _aclfs_offer "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" allow deny inherited
    else
        _aclfs_offer '' "$1" user: group: everyone everyone@ owner@ group@
        if [[ $1 ]]; then
            _aclfs_users
            _aclfs_offer '' "$1" "${_aclfs_names[@]}"
            _aclfs_groups
            _aclfs_offer '' "$1" "${_aclfs_names[@]}"
        fi
    fi
    # readline closes a quote behind the only word, but an entry goes on.
    [[ $_aclfs_quote && ${#COMPREPLY[@]} -eq 1 ]] || return
    local only=${COMPREPLY[0]}
    COMPREPLY=()
    if [[ $only == *: ]]; then _aclfs_entry "$only"; else _aclfs_entry "$only "; fi
}

_aclfs_mount_options() {
    local before= path
    [[ $1 == *,* ]] && before=${1%,*},
    case ${1##*,} in
    sandbox=*)
        _aclfs_profiles "${1##*sandbox=}" "${before}sandbox="
        compopt -o nospace 2>/dev/null ;;
    audit_log=* | identities=*)
        before+=${1##*,} before=${before%%=*}=
        while read -r path; do COMPREPLY+=("$before$path"); done < <(compgen -f -- "${1##*=}")
        compopt -o nospace 2>/dev/null ;;
    *) _aclfs_list "$_aclfs_mount_words" "$1" ;;
    esac
}

# MODE, or a change of the list with its position and entry, and files.
_aclfs_chmod() {
    case ${_aclfs_operands[0]-}:${#_aclfs_operands[@]} in
    *:0) _aclfs_words "$_aclfs_changes $options" "$1" ;;
    +a:1 | +ai:1 | -a:1 | +a#:2 | +ai#:2 | =a#:2) _aclfs_entry "$1" ;;
    +a#:1 | +ai#:1 | =a#:1 | -a#:1) _aclfs_words '0 1 2 3 4 5 6 7 8 9' "$1" ;;
    *) _aclfs_files "$1" ;;
    esac
}

# What a kind offers: alternatives with | between, each a function, words with commas, or behind + such words as a list.
_aclfs_kind() { # KIND CURRENT BEFORE
    local kind
    local -a kinds _aclfs_names
    IFS='|' read -ra kinds <<<"${1//\*/}"
    for kind in "${kinds[@]}"; do
        case $kind in
        @none) ;;
        @files) if [[ $3 ]]; then _aclfs_offer "$3" "$2" $(compgen -f -- "$2"); else _aclfs_files "$2"; fi ;;
        @directories) _aclfs_files "$2" -d ;;
        @mounts) _aclfs_mounts "$2" ;;
        @users | @groups)
            "_aclfs_${kind#@}"
            _aclfs_offer "$3" "$2" "${_aclfs_names[@]}" ;;
        @subject) _aclfs_subject "$2" ;;
        @options) _aclfs_mount_options "$2" ;;
        @profile)
            _aclfs_profiles "$2"
            [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$2" ;;
        @command)
            if [[ ! $ended ]]; then
                _aclfs_words "$options" "$2"
            elif [ "${#_aclfs_operands[@]}" -eq 1 ]; then
                _aclfs_files "$2" -c
            else
                _aclfs_files "$2"
            fi ;;
        @commands) _aclfs_words "$_aclfs_command_words" "$2" ;;
        @operations) _aclfs_words "$_aclfs_operations" "$2" ;;
        @flags) _aclfs_list "$_aclfs_flags" "$2" ;;
        +*)
            kind=${kind#+}
            _aclfs_list "${kind//,/ }" "$2" "$3" ;;
        *) _aclfs_offer "$3" "$2" ${kind//,/ } ;;
        esac
    done
}

_aclfs() {
    local -a _aclfs_line
    local _aclfs_quote
    _aclfs_split
    COMPREPLY=()
    _aclfs_complete
    # Without a quote, readline replaces what stands behind the last colon or equals sign, and a blank needs a backslash.
    [[ $_aclfs_quote || ${#COMPREPLY[@]} -eq 0 ]] && return
    local current=${_aclfs_line[-1]} index before=
    [[ $current == *[:=]* && $COMP_WORDBREAKS == *[:=]* ]] && before=${current%"${current##*[:=]}"}
    for index in "${!COMPREPLY[@]}"; do
        COMPREPLY[index]=${COMPREPLY[index]#"$before"}
        # What stands there already, such as `cache=`.
        [[ ${COMPREPLY[index]} ]] || unset "COMPREPLY[index]"
        [[ ! -v COMPREPLY[index] || $(compopt 2>/dev/null) == *'-o filenames'* ]] || COMPREPLY[index]=${COMPREPLY[index]// /\\ }
    done
}

# The kind of an option's value; empty if it takes none.
_aclfs_value() {
    local pair
    kind=
    for pair in $values; do [[ $pair != "$1="* ]] || kind=${pair#*=}; done
}
_aclfs_has() { [[ " ${_aclfs_line[*]} " == *" $1 "* ]]; }

_aclfs_complete() {
    local current=${_aclfs_line[-1]} path= kind= ended= below options values operands place word
    local -a _aclfs_operands=() kinds
    _aclfs_command ''
    for word in "${_aclfs_line[@]:1:${#_aclfs_line[@]}-2}"; do
        if [[ $kind ]]; then
            kind=
        elif [[ $below ]]; then
            path+=${path:+ }$word
            _aclfs_command "$path"
        elif [[ $word == -- ]]; then
            ended=1
        elif [[ $word == -* && ! $ended && ! ($path == chmod && ${#_aclfs_operands[@]} -eq 0 && " $_aclfs_changes " == *" $word "*) ]]; then
            _aclfs_value "$word"
        else
            _aclfs_operands+=("$word")
        fi
    done
    [[ $kind || $current != --*=* ]] || _aclfs_value "${current%%=*}"
    if [[ $kind && $current == --*=* ]]; then
        _aclfs_kind "$kind" "${current#*=}" "${current%%=*}="
    elif [[ $kind ]]; then
        _aclfs_kind "$kind" "$current" ''
    elif [[ $below ]]; then
        _aclfs_words "$below $options" "$current"
        [[ $path || ${#COMPREPLY[@]} -gt 0 ]] || _aclfs_files "$current" -d
    elif [[ $path == chmod ]] && [[ ! ${_aclfs_operands[*]} || $current != -* ]]; then
        _aclfs_chmod "$current"
    elif [[ ! $operands || $current == -* && ! $ended ]]; then
        _aclfs_words "$options" "$current"
    else
        read -ra kinds <<<"$operands"
        place=${#_aclfs_operands[@]}
        # The last one may repeat.
        if ((place >= ${#kinds[@]})) && [[ $operands == *\* ]]; then place=$((${#kinds[@]} - 1)); fi
        _aclfs_kind "${kinds[place]-@none}" "$current" ''
    fi
}

_aclfs_command_words='mount unmount upgrade status doctor fstab-line conformance chmod ls chflags owner backup purge acl propagate inherit explicit strip
    copy-mode preset volume restore explain effective report sandbox help version'
_aclfs_changes='+a +ai +a# +ai# -a -a# =a# -E -i -I -N -C'
_aclfs_entry_words='read list write add_file execute search delete append add_subdirectory delete_child readattr writeattr readextattr writeextattr
    readsecurity writesecurity chown full_control modify_set read_set write_set file_inherit directory_inherit limit_inherit only_inherit
    inherited'
_aclfs_operations='open-read open-write open-append exec create mkdir unlink rmdir rename link chown chmod chflags setxattr getxattr listxattr stat
    readlink truncate utimes setacl access-r access-w access-x read list write add_file execute search delete append add_subdirectory
    delete_child readattr writeattr readextattr writeextattr readsecurity writesecurity'
_aclfs_flags='uchg nouchg uappnd nouappnd nodump dump opaque noopaque hidden nohidden schg noschg sappnd nosappnd sunlnk nosunlnk arch noarch'
_aclfs_mount_words='owners noowners acl noacl securelevel= grpid nogrpid bsdgroups sysvgroups suiddir nosuiddir suiddir=all groups=process
    groups=directory groups_cache= identities= rootsquash rootsquash= metadata=auto metadata=trusted metadata=user list_room= cache=auto
    cache=strict cache=exclusive cache= unknown99 kernel_features=-epoch kernel_features=-passthrough kernel_features=-uring
    kernel_features=-statx kernel_features=-killpriv2 kernel_features=-expire kernel_features=-beneath kernel_features=-fanotify
    kernel_features=-resend transport=auto transport=uring transport=dev special=gate special=open passthrough=auto passthrough=off
    zerofill=write zerofill=allocate zerofill=off zerofill_max= zerofill_budget= zerofill_budget=off restarts= sandboxing=caps
    sandboxing=none xattr_names=linux xattr_names=mac xattr_names=both posixacl=translate posixacl=off portable_acl=on portable_acl=off
    crossmounts nocrossmounts source_mode=require-private fsname= audit=off audit=denied audit=all audit_log= audit_limit=
    audit_user_limit= sandbox= bundle= home= layout=macos layout=ios allow_other remount nofail rw ro nosuid suid nodev dev exec noexec
    async sync dirsync atime noatime diratime nodiratime norelatime relatime nostrictatime strictatime symfollow nosymfollow context=
    fscontext= defcontext= rootcontext='

# What a command takes: the words below it, its options, the kinds of those with a value, the kinds of its operands.
_aclfs_command() {
    below= options= values= operands=
    case $1 in
    '')
        below='mount unmount upgrade status doctor fstab-line conformance chmod ls chflags owner backup purge acl propagate inherit explicit strip copy-mode preset volume restore explain effective report sandbox help version'
        options='--help --version' ;;
    'backup')
        below='exclude include status list layout' options='--help' ;;
    'acl')
        below='export import diff copy remap' options='--help' ;;
    'preset')
        below='apply show undo' options='--help' ;;
    'sandbox')
        below='check list grant run' options='--help' ;;
    'sandbox grant')
        below='add list remove' options='--help' ;;
    'mount')
        options='-f -d -o --help' values='-o=@options' operands='@directories @directories' ;;
    'unmount')
        options='-f --help' operands='@mounts' ;;
    'upgrade')
        options='--all -q --quiet --help' operands='@mounts* @none @none' ;;
    'status')
        options='--json --help' operands='@mounts' ;;
    'doctor')
        options='--json --help' operands='@directories @directories' ;;
    'fstab-line')
        options='-o --options --automount --help' values='-o=@options --options=@options' operands='@directories @directories' ;;
    'conformance')
        options='--json --users --help' values='--users=@none' operands='@mounts' ;;
    'chmod')
        options='-R --recursive -h --no-dereference -f --quiet -v --verbose --offline -H -L -P --help' ;;
    'ls')
        options='-l -e -O -@ -d --directory -a --all -n -h --human-readable -t -S -r --reverse -R --recursive -L --dereference -1 -le -leO --help'
        operands='@files*' ;;
    'chflags')
        options='-R --recursive -h --no-dereference -f --quiet -v --verbose -x -H -L -P --help' operands='@flags @files*' ;;
    'owner')
        options='--user --group --uuid -h --no-dereference --json --help' values='--user=@users --group=@groups --uuid=@none'
        operands='@files*' ;;
    'backup exclude')
        options='--help' operands='@files*' ;;
    'backup include')
        options='--help' operands='@files*' ;;
    'backup status')
        options='--json --offline --help' operands='@files*' ;;
    'backup list')
        options='-0 --null --format --offline --help' values='--format=lines,null,rsync,tar,restic,borg' operands='@files*' ;;
    'backup layout')
        options='--help' operands='ios,container,none @files*' ;;
    'purge')
        options='--older-than --dry-run --json -v --verbose --help' values='--older-than=30m,12h,3d,2w' operands='@files*' ;;
    'acl export')
        options='--json --sorted -n --numeric --from-mac --offline --metadata --help' values='--metadata=auto,trusted,user'
        operands='@files' ;;
    'acl import')
        options='--posix --map-user --map-group --map --unknown -n --numeric --ignore --set-id --dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --help'
        values='--map-user=@none --map-group=@none --map=@files --unknown=refuse,keep --ignore=+owner,group,mode,flags,backup,acl --undo-file=@files --metadata=auto,trusted,user'
        operands='@files @files'
        ! _aclfs_has --posix || operands='@directories' ;;
    'acl diff')
        options='--json --names --ignore --offline --metadata --help'
        values='--ignore=+kind,owner,group,mode,flags,backup,acl --metadata=auto,trusted,user' operands='@files @files' ;;
    'acl copy')
        options='--ignore --set-id --dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --help'
        values='--ignore=+owner,group,mode,flags,backup,acl --undo-file=@files --metadata=auto,trusted,user' operands='@files @files' ;;
    'acl remap')
        options='--dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --workers --help'
        values='--undo-file=@files --metadata=auto,trusted,user --workers=1,2,4,8' operands='@users|@groups @users|@groups @files' ;;
    'propagate')
        options='--dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --workers --help'
        values='--undo-file=@files --metadata=auto,trusted,user --workers=1,2,4,8' operands='@directories' ;;
    'inherit')
        options='--dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --workers --help'
        values='--undo-file=@files --metadata=auto,trusted,user --workers=1,2,4,8' operands='@files' ;;
    'explicit')
        options='-R --recursive --dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --workers --help'
        values='--undo-file=@files --metadata=auto,trusted,user --workers=1,2,4,8' operands='@files' ;;
    'strip')
        options='-R --recursive --inherited --dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --workers --help'
        values='--undo-file=@files --metadata=auto,trusted,user --workers=1,2,4,8' operands='@files' ;;
    'copy-mode')
        options='--keep-execute --dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --workers --help'
        values='--undo-file=@files --metadata=auto,trusted,user --workers=1,2,4,8' operands='@directories' ;;
    'preset apply')
        options='--group --dry-run --undo-file --resume --hard-links --offline --metadata -v --verbose --json --workers --help'
        values='--group=@groups --undo-file=@files --metadata=auto,trusted,user --workers=1,2,4,8'
        operands='drop-box,append-only,no-delete,team-share,read-only,public @directories' ;;
    'preset show')
        options='--json --group --offline --metadata --help' values='--group=@groups --metadata=auto,trusted,user'
        operands='drop-box,append-only,no-delete,team-share,read-only,public @directories' ;;
    'preset undo')
        options='--dry-run --force --hard-links --offline --metadata -v --verbose --json --help' values='--metadata=auto,trusted,user'
        operands='@directories' ;;
    'volume')
        options='--reset --metadata --json --help' values='--metadata=auto,trusted,user'
        operands='@directories owners,noowners|acl,noacl owners,noowners' ;;
    'restore')
        options='--dry-run --force --hard-links -v --verbose --json --help' operands='@files @directories' ;;
    'explain')
        options='--json --as --who-can -R --recursive --last --help' values='--as=@subject' operands='@operations @files @files'
        ! _aclfs_has --who-can || operands='@operations @files'
        ! _aclfs_has --last || operands='@mounts|5,10,20,100 @mounts' ;;
    'effective')
        options='--json --as --help' values='--as=@subject' operands='@files' ;;
    'report')
        options='-o --output --force --json --offline --metadata --help' values='-o=@files --output=@files --metadata=auto,trusted,user'
        operands='@directories' ;;
    'sandbox check')
        options='--json -v --verbose --bundle --home --layout --help' values='--bundle=@none --home=@none --layout=macos,ios'
        operands='@profile @files*' ;;
    'sandbox list')
        options='--json --help' ;;
    'sandbox grant add')
        options='--bundle --read-only --read-write --follow --expires --help' values='--bundle=@none --expires=30m,12h,7d'
        operands='@files*' ;;
    'sandbox grant list')
        options='--json --bundle --help' values='--bundle=@none' operands='@mounts' ;;
    'sandbox grant remove')
        options='--bundle --below --help' values='--bundle=@none' operands='@files*' ;;
    'sandbox run')
        options='--bundle --home --layout --mount -- --help' values='--bundle=@none --home=@none --layout=macos,ios --mount=@mounts'
        operands='@profile @command*' ;;
    'help')
        options='--help' operands='@commands' ;;
    'version')
        options='--help' ;;
    *)
        options='-o --help' values='-o=@options' operands='@directories @directories' ;;
    esac
}

complete -F _aclfs aclfs
