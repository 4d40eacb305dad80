# bash completion for aclfs(1)

_aclfs_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }
_aclfs_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen "${2:--f}" -- "$1"); }

_aclfs_mount_options() {
    # The word after the last comma is completed; what stands before it is kept.
    local options='ro rw securelevel= owners noowners acl noacl grpid nogrpid bsdgroups sysvgroups suiddir nosuiddir suiddir=all
        groups=process groups=directory groups_cache= metadata=auto metadata=trusted metadata=user cache=auto cache=strict cache=exclusive
        cache= crossmounts nocrossmounts xattr_names=linux xattr_names=mac xattr_names=both posixacl=translate posixacl=off portable_acl=on
        portable_acl=off special=gate special=open passthrough=auto
        passthrough=off transport=auto transport=uring transport=dev zerofill=write zerofill=allocate zerofill=off zerofill_max=
        zerofill_budget=off zerofill_budget= unknown99 allow_other source_mode=require-private fsname= sandbox= bundle= home= layout=macos
        layout=ios audit=off audit=denied audit=all audit_log= audit_limit= audit_user_limit= kernel_features=-epoch
        kernel_features=-passthrough kernel_features=-uring kernel_features=-statx kernel_features=-killpriv2 kernel_features=-expire
        kernel_features=-beneath kernel_features=-fanotify suid nosuid dev nodev exec noexec sync async dirsync atime noatime diratime nodiratime relatime
        norelatime symfollow nosymfollow strictatime nostrictatime context= fscontext= defcontext= rootcontext= remount'
    local before=
    [[ $1 == *,* ]] && before=${1%,*},
    local words
    mapfile -t words < <(compgen -W "$options" -- "${1##*,}")
    COMPREPLY=("${words[@]/#/$before}")
    compopt -o nospace
}

_aclfs() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local commands='mount unmount status chmod ls chflags backup sandbox explain effective doctor fstab-line conformance help version'
    local operations='open-read open-write open-append exec create mkdir unlink rmdir rename link chmod chown chflags
        setxattr getxattr listxattr stat readlink truncate utimes setacl access-r access-w access-x read write execute delete append list search add_file add_subdirectory delete_child readattr writeattr
        readextattr writeextattr readsecurity writesecurity'
    local flags='nodump dump uchg nouchg uappnd nouappnd opaque noopaque hidden nohidden arch noarch schg noschg
        sappnd nosappnd sunlnk nosunlnk'
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _aclfs_words "$commands --help --version" "$current"
        [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" -d
        return
    fi
    case $command in
    mount)
        case $previous in
        -o) _aclfs_mount_options "$current" ;;
        *) case $current in
            -*) _aclfs_words '-f -d -o --help' "$current" ;;
            *) _aclfs_files "$current" -d ;;
            esac ;;
        esac ;;
    unmount)
        case $current in
        -*) _aclfs_words '-f --help' "$current" ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts)" -- "$current") ;;
        esac ;;
    doctor)
        case $current in
        -*) _aclfs_words '--json --help' "$current" ;;
        *) _aclfs_files "$current" -d ;;
        esac ;;
    conformance)
        case $current in
        -*) _aclfs_words '--json --users --help' "$current" ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts)" -- "$current") ;;
        esac ;;
    fstab-line)
        case $previous in
        -o) _aclfs_mount_options "$current" ;;
        *) case $current in
            -*) _aclfs_words '-o --automount --help' "$current" ;;
            *) _aclfs_files "$current" -d ;;
            esac ;;
        esac ;;
    status)
        case $current in
        -*) _aclfs_words '--json --help' "$current" ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts)" -- "$current") ;;
        esac ;;
    chmod)
        if [ "$COMP_CWORD" -eq 2 ]; then
            _aclfs_words '+a +ai +a# +ai# -a -a# =a# -E -C -i -I -N -R -H -L -P -h -f -v --recursive --help' "$current"
        else
            _aclfs_files "$current"
        fi ;;
    chflags)
        case $current in
        -*) _aclfs_words '-R -H -L -P -h -f -v -x --recursive --help' "$current" ;;
        *) _aclfs_words "$flags" "$current"
            [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" ;;
        esac ;;
    backup)
        if [ "$COMP_CWORD" -eq 2 ]; then
            _aclfs_words 'exclude include status list --help' "$current"
        else
            case ${COMP_WORDS[2]}:$current in
            list:-*) _aclfs_words '-0 --format=null --format=lines --format=rsync --format=tar --format=restic --format=borg' \
                "$current" ;;
            status:-*) _aclfs_words '--json' "$current" ;;
            *) _aclfs_files "$current" ;;
            esac
        fi ;;
    sandbox)
        case $COMP_CWORD:${COMP_WORDS[2]}:${COMP_WORDS[3]}:$current in
        2:*) _aclfs_words 'check list grant run --help' "$current" ;;
        3:grant:*) _aclfs_words 'add list remove --help' "$current" ;;
        *:check:*:-*) _aclfs_words '--json --bundle --home --layout --help' "$current" ;;
        *:check:*) case $previous in
            --layout) _aclfs_words 'macos ios' "$current" ;;
            *) _aclfs_words "$(aclfs sandbox list 2>/dev/null | awk '$1 !~ /^\// && $2 ~ /^\// { print $1 }')" "$current"
                [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" ;;
            esac ;;
        *:run:*:-*) _aclfs_words '--bundle --home --layout --mount --help --' "$current" ;;
        *:run:*) case $previous in
            --layout) _aclfs_words 'macos ios' "$current" ;;
            run) _aclfs_words "$(aclfs sandbox list 2>/dev/null | awk '$1 !~ /^\// && $2 ~ /^\// { print $1 }')" "$current" ;;
            *) _aclfs_files "$current" ;;
            esac ;;
        *:list:*) _aclfs_words '--json --help' "$current" ;;
        *:grant:add:-*) _aclfs_words '--bundle --read-only --read-write --expires --help' "$current" ;;
        *:grant:list:-*) _aclfs_words '--json --bundle --help' "$current" ;;
        *:grant:remove:-*) _aclfs_words '--bundle --below --help' "$current" ;;
        *:grant:*) _aclfs_files "$current" ;;
        esac ;;
    ls)
        case $current in
        -*) _aclfs_words '-l -e -O -@ -d -a -R -n -h -t -S -r -le -leO --recursive --help' "$current" ;;
        *) _aclfs_files "$current" ;;
        esac ;;
    explain)
        case $previous in
        --as) mapfile -t COMPREPLY < <(compgen -u -- "$current") ;;
        *) case $current in
            -*) _aclfs_words '--as --json --who-can -R --recursive --last --help' "$current" ;;
            *) _aclfs_words "$operations" "$current"
                [ "${#COMPREPLY[@]}" -gt 0 ] || _aclfs_files "$current" ;;
            esac ;;
        esac ;;
    effective)
        case $previous in
        --as) mapfile -t COMPREPLY < <(compgen -u -- "$current") ;;
        *) case $current in
            -*) _aclfs_words '--as --json --help' "$current" ;;
            *) _aclfs_files "$current" ;;
            esac ;;
        esac ;;
    help) _aclfs_words "$commands" "$current" ;;
    esac
}

complete -F _aclfs aclfs
