# bash completion for aclfs(1)

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
    mapfile -t COMPREPLY < <(compgen "${2:--f}" -- "$1")
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
    local rights='read write execute delete append list search add_file add_subdirectory delete_child readattr writeattr
        readextattr writeextattr readsecurity writesecurity chown full_control modify_set read_set write_set
        file_inherit directory_inherit limit_inherit only_inherit inherited'
    compopt -o nospace 2>/dev/null
    if [[ $1 =~ ^(.*[\ :](allow|deny)[\ :])([^\ :]*)$ ]]; then
        _aclfs_list "$rights" "${BASH_REMATCH[3]}" "${BASH_REMATCH[1]}"
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
    local options='ro rw securelevel= owners noowners acl noacl grpid nogrpid bsdgroups sysvgroups suiddir nosuiddir suiddir=all
        groups=process groups=directory groups_cache= identities= rootsquash rootsquash= metadata=auto metadata=trusted metadata=user list_room= cache=auto cache=strict cache=exclusive
        cache= crossmounts nocrossmounts xattr_names=linux xattr_names=mac xattr_names=both posixacl=translate posixacl=off portable_acl=on
        portable_acl=off special=gate special=open passthrough=auto
        passthrough=off transport=auto transport=uring transport=dev zerofill=write zerofill=allocate zerofill=off zerofill_max=
        zerofill_budget=off zerofill_budget= unknown99 allow_other source_mode=require-private fsname= sandbox= bundle= home= layout=macos
        layout=ios audit=off audit=denied audit=all audit_log= audit_limit= audit_user_limit= kernel_features=-epoch
        kernel_features=-passthrough kernel_features=-uring kernel_features=-statx kernel_features=-killpriv2 kernel_features=-expire
        kernel_features=-beneath kernel_features=-fanotify suid nosuid dev nodev exec noexec sync async dirsync atime noatime diratime nodiratime relatime
        norelatime symfollow nosymfollow strictatime nostrictatime context= fscontext= defcontext= rootcontext= remount nofail'
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
    *) _aclfs_list "$options" "$1" ;;
    esac
}

# The index of the first operand behind the command: options before it are of these letters, or long.
_aclfs_first_operand() {
    _aclfs_operand=2
    while ((_aclfs_operand < ${#_aclfs_line[@]} - 1)) && [[ ${_aclfs_line[_aclfs_operand]} =~ ^(-[$1]+|--.*)$ ]]; do
        _aclfs_operand=$((_aclfs_operand + 1))
    done
}

_aclfs_chmod() {
    local current=$1 last=$((${#_aclfs_line[@]} - 1)) _aclfs_operand verb
    _aclfs_first_operand RHLPhfv
    verb=${_aclfs_line[_aclfs_operand]}
    case $verb:$((last - _aclfs_operand)) in
    *:0) _aclfs_words '+a +ai +a# +ai# -a -a# =a# -E -C -i -I -N -R -H -L -P -h -f -v --recursive --no-dereference --quiet --verbose --offline --help' \
        "$current" ;;
    +a:1 | +ai:1 | -a:1 | +a#:2 | +ai#:2 | =a#:2) _aclfs_entry "$current" ;;
    +a#:1 | +ai#:1 | =a#:1 | -a#:1) _aclfs_words '0 1 2 3 4 5 6 7 8 9' "$current" ;;
    *) _aclfs_files "$current" ;;
    esac
}

_aclfs_chflags() {
    local current=$1 last=$((${#_aclfs_line[@]} - 1)) _aclfs_operand
    _aclfs_first_operand RHLPhfvx
    if ((last > _aclfs_operand)); then
        _aclfs_files "$current"
    elif [[ $current == -* ]]; then
        _aclfs_words '-R -H -L -P -h -f -v -x --recursive --no-dereference --quiet --verbose --help' "$current"
    else
        _aclfs_list 'nodump dump uchg nouchg uappnd nouappnd opaque noopaque hidden nohidden arch noarch schg noschg
            sappnd nosappnd sunlnk nosunlnk' "$current"
    fi
}

_aclfs_sandbox() {
    local current=$1 previous=$2 last=$((${#_aclfs_line[@]} - 1))
    case $last:${_aclfs_line[2]}:${_aclfs_line[3]}:$previous:$current in
    2:*) _aclfs_words 'check list grant run --help' "$current" ;;
    3:grant:*) _aclfs_words 'add list remove --help' "$current" ;;
    *:--layout:*) _aclfs_words 'macos ios' "$current" ;;
    *:--mount:*) _aclfs_mounts "$current" ;;
    *:--expires:*) _aclfs_words '30m 12h 7d' "$current" ;;
    *:--bundle:* | *:--home:*) ;;
    *:check:*:-*) _aclfs_words '--json -v --verbose --bundle --home --layout --help' "$current" ;;
    *:check:*)
        _aclfs_profiles "$current"
        [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" ;;
    *:run:*:-*) _aclfs_words '--bundle --home --layout --mount --help --' "$current" ;;
    3:run:*)
        _aclfs_profiles "$current"
        [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" ;;
    *:run:*:--:*) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
    *:run:*) _aclfs_files "$current" ;;
    *:grant:add:*:-*) _aclfs_words '--bundle --read-only --read-write --follow --expires --help' "$current" ;;
    *:grant:list:*:-*) _aclfs_words '--json --bundle --help' "$current" ;;
    *:grant:remove:*:-*) _aclfs_words '--bundle --below --help' "$current" ;;
    *:grant:list:*) _aclfs_mounts "$current" ;;
    *:list:*) _aclfs_words '--json --help' "$current" ;;
    *) _aclfs_files "$current" ;;
    esac
}

_aclfs_options() { # OPTIONS CURRENT: or files
    case $2 in
    -*) _aclfs_words "$1" "$2" ;;
    *) _aclfs_files "$2" "${3:--f}" ;;
    esac
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

_aclfs_complete() {
    local count=${#_aclfs_line[@]} current=${_aclfs_line[-1]} previous=${_aclfs_line[-2]} command=${_aclfs_line[1]}
    local commands='mount unmount status chmod ls chflags owner backup purge acl propagate inherit explicit strip copy-mode preset volume restore report sandbox explain effective doctor fstab-line conformance help version'
    local tree='--dry-run --undo-file --resume --hard-links --workers --offline --metadata -v --verbose --json --help'
    local operations='open-read open-write open-append exec create mkdir unlink rmdir rename link chmod chown chflags
        setxattr getxattr listxattr stat readlink truncate utimes setacl access-r access-w access-x read write execute delete append list search add_file add_subdirectory delete_child readattr writeattr
        readextattr writeextattr readsecurity writesecurity'
    if [ "$count" -eq 2 ]; then
        _aclfs_words "$commands --help --version" "$current"
        [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" -d
        return
    fi
    case $command:$previous in
    mount:-o | fstab-line:-o | fstab-line:--options) _aclfs_mount_options "$current" ;;
    mount:*) _aclfs_options '-f -d -o --help' "$current" -d ;;
    fstab-line:*) _aclfs_options '-o --options --automount --help' "$current" -d ;;
    unmount:*)
        case $current in
        -*) _aclfs_words '-f --help' "$current" ;;
        *) _aclfs_mounts "$current" ;;
        esac ;;
    status:*)
        case $current in
        -*) _aclfs_words '--json --help' "$current" ;;
        *) _aclfs_mounts "$current" ;;
        esac ;;
    conformance:--users) ;;
    conformance:*)
        case $current in
        -*) _aclfs_words '--json --users --help' "$current" ;;
        *) _aclfs_mounts "$current" ;;
        esac ;;
    doctor:*) _aclfs_options '--json --help' "$current" -d ;;
    chmod:*) _aclfs_chmod "$current" ;;
    chflags:*) _aclfs_chflags "$current" ;;
    owner:--user | owner:--group)
        local -a _aclfs_names
        "_aclfs_${previous#--}s"
        _aclfs_offer '' "$current" "${_aclfs_names[@]}" ;;
    owner:--uuid) ;;
    owner:*) _aclfs_options '--user --group --uuid -h --no-dereference --json --help' "$current" ;;
    backup:--format) _aclfs_words 'null lines rsync tar restic borg' "$current" ;;
    backup:*)
        case $count:${_aclfs_line[2]}:$current in
        3:*) _aclfs_words 'exclude include status list layout --help' "$current" ;;
        *:list:-*) _aclfs_words '-0 --null --format=null --format=lines --format=rsync --format=tar --format=restic --format=borg --offline --help' "$current" ;;
        *:status:-*) _aclfs_words '--json --offline --help' "$current" ;;
        4:layout:*) _aclfs_words 'ios container none --help' "$current" ;;
        *) _aclfs_files "$current" ;;
        esac ;;
    purge:--older-than) _aclfs_words '1d 3d 2w' "$current" ;;
    purge:*) _aclfs_options '--older-than --dry-run --json --verbose --help' "$current" -d ;;
    acl:--metadata) _aclfs_words 'auto trusted user' "$current" ;;
    acl:--undo-file) _aclfs_files "$current" ;;
    acl:--map) _aclfs_files "$current" ;;
    acl:--unknown) _aclfs_words 'refuse keep' "$current" ;;
    acl:--ignore) _aclfs_words 'kind owner group mode flags backup acl' "$current" ;;
    acl:*)
        case $count:${_aclfs_line[2]} in
        3:*) _aclfs_words 'export import diff copy remap --help' "$current" ;;
        *:export) _aclfs_options '--json --sorted --numeric --from-mac --offline --metadata --help' "$current" ;;
        *:diff) _aclfs_options '--json --names --ignore --offline --metadata --help' "$current" ;;
        *:copy) _aclfs_options '--ignore --set-id --dry-run --undo-file --resume --hard-links --offline --metadata --verbose --json --help' "$current" ;;
        *:remap) _aclfs_options '--dry-run --undo-file --resume --hard-links --workers --offline --metadata --verbose --json --help' "$current" ;;
        *)
            _aclfs_options '--posix --map-user --map-group --map --unknown --numeric --ignore --set-id --dry-run --undo-file --resume --hard-links --offline --metadata --verbose --json --help' \
                "$current" ;;
        esac ;;
    propagate:--metadata | inherit:--metadata | explicit:--metadata | strip:--metadata | copy-mode:--metadata | volume:--metadata)
        _aclfs_words 'auto trusted user' "$current" ;;
    propagate:--workers | inherit:--workers | explicit:--workers | strip:--workers | copy-mode:--workers) _aclfs_words '1 2 4 8' "$current" ;;
    propagate:--undo-file | inherit:--undo-file | explicit:--undo-file | strip:--undo-file | copy-mode:--undo-file) _aclfs_files "$current" ;;
    propagate:*) _aclfs_options "$tree" "$current" -d ;;
    inherit:*) _aclfs_options "$tree" "$current" ;;
    explicit:*) _aclfs_options "-R --recursive $tree" "$current" ;;
    strip:*) _aclfs_options "-R --recursive --inherited $tree" "$current" ;;
    copy-mode:*) _aclfs_options "--keep-execute $tree" "$current" -d ;;
    preset:--metadata) _aclfs_words 'auto trusted user' "$current" ;;
    preset:--undo-file) _aclfs_files "$current" ;;
    preset:--group) _aclfs_words "$(getent group | cut -d : -f 1)" "$current" ;;
    preset:*)
        case $count:${_aclfs_line[2]}:$current in
        3:*) _aclfs_words 'apply show undo --help' "$current" ;;
        *:undo:*) _aclfs_options '--dry-run --force --hard-links --offline --metadata --verbose --json --help' "$current" -d ;;
        *:show:-*) _aclfs_words '--group --offline --metadata --json --help' "$current" ;;
        *:apply:-*) _aclfs_words "--group $tree" "$current" ;;
        *)
            _aclfs_words 'drop-box append-only no-delete team-share read-only public' "$current"
            [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" -d ;;
        esac ;;
    volume:*)
        case $count in
        3) _aclfs_options '--reset --metadata --json --help' "$current" -d ;;
        *) _aclfs_options '--reset --metadata --json --help' "$current" -d
            _aclfs_words 'acl noacl owners noowners' "$current" ;;
        esac ;;
    restore:*) _aclfs_options '--dry-run --force --hard-links --verbose --json --help' "$current" ;;
    report:--metadata) _aclfs_words 'auto trusted user' "$current" ;;
    report:-o | report:--output) _aclfs_files "$current" ;;
    report:*) _aclfs_options '-o --output --force --json --offline --metadata --help' "$current" -d ;;
    sandbox:*) _aclfs_sandbox "$current" "$previous" ;;
    ls:*)
        _aclfs_options '-l -e -O -@ -d -a -R -n -h -t -S -r -le -leO --all --directory --human-readable --reverse --recursive --dereference --help' \
            "$current" ;;
    explain:--as | effective:--as) _aclfs_subject "$current" ;;
    explain:--last)
        _aclfs_words '5 10 20 100' "$current"
        _aclfs_mounts "$current" ;;
    explain:*)
        if [[ $current == -* ]]; then
            _aclfs_words '--as --json --who-can -R --recursive --last --help' "$current"
        elif [[ " ${_aclfs_line[*]} " == *' --last '* ]]; then
            _aclfs_mounts "$current"
        else
            _aclfs_words "$operations" "$current"
            [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current"
        fi ;;
    effective:*) _aclfs_options '--as --json --help' "$current" ;;
    help:*) [ "$count" -ne 3 ] || _aclfs_words "$commands" "$current" ;;
    esac
}

complete -F _aclfs aclfs
