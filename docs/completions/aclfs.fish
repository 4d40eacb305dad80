# fish completion for aclfs(1)

function __aclfs_mounts
    # Blanks and others are octal numbers there.
    awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts | while read -l path
        printf '%b\n' (string replace -ra '\\\\([0-7]{3})' '\\\\0$1' -- $path)
    end
end

function __aclfs_profiles
    aclfs sandbox list 2>/dev/null | string match -rg '^([^:/ ]+)  /'
end

# The token at the cursor without its quote.
function __aclfs_token
    commandline -ct | string unescape --style=script -n 2>/dev/null
    or commandline -ct | string trim -l -c '"\''
end

# Offers the arguments behind what stands before the last comma of the text, without those that stand there.
function __aclfs_list -a before text
    set -l head (string match -r '^.*,' -- $text)
    for word in $argv[3..]
        string match -q "*,$word,*" -- ",$head"; or echo "$before$head$word"
    end
end

# USER[:GROUP,...]
function __aclfs_subject
    set -l token (__aclfs_token)
    if set -l parts (string match -rg '^([^:]*:)(.*)$' -- $token)
        __aclfs_list "$parts[1]" "$parts[2]" (__fish_complete_groups | string split -f1 \t)
    else
        __fish_complete_users
    end
end

# WHO [inherited] allow|deny WORD,WORD..., with blanks or colons between.
function __aclfs_entry
    set -l token (__aclfs_token)
    set -l rights read write execute delete append list search add_file add_subdirectory delete_child readattr writeattr readextattr \
        writeextattr readsecurity writesecurity chown full_control modify_set read_set write_set \
        file_inherit directory_inherit limit_inherit only_inherit inherited
    if set -l parts (string match -rg '^(.*[ :](?:allow|deny)[ :])([^ :]*)$' -- $token)
        __aclfs_list "$parts[1]" "$parts[2]" $rights
    else if string match -qr '^user:[^ :]*$' -- $token
        printf 'user:%s\n' (__fish_complete_users | string split -f1 \t)
    else if string match -qr '^group:[^ :]*$' -- $token
        printf 'group:%s\n' (__fish_complete_groups | string split -f1 \t)
    else if set -l before (string match -rg '^(.*[ :])[^ :]*$' -- $token)
        printf '%s%s\n' "$before" allow "$before" deny "$before" inherited
    else
        printf '%s\n' user: group: everyone everyone@ owner@ group@
        __fish_complete_users
        __fish_complete_groups
    end
end

# The operands before the cursor, without the options before them.
function __aclfs_operands
    set -l words (commandline -opc)[3..]
    while string match -qr '^(-[RHLPhfvx]+|--.*)$' -- $words[1]
        set -e words[1]
    end
    set -q words[1]; and printf '%s\n' $words
end
function __aclfs_is_entry
    set -l words (__aclfs_operands)
    contains -- "$words[1]" +a +ai -a; and test (count $words) -eq 1
    or begin
        contains -- "$words[1]" +a# +ai# =a#; and test (count $words) -eq 2
    end
end
function __aclfs_is_first
    test (count (__aclfs_operands)) -eq 0
end

function __aclfs_mount_words
    string match -ra '\S+' -- '
    ro rw securelevel= owners noowners acl noacl grpid nogrpid bsdgroups sysvgroups suiddir nosuiddir suiddir=all groups=process
    groups=directory groups_cache= identities= rootsquash rootsquash= metadata=auto metadata=trusted metadata=user list_room= cache=auto cache=strict cache=exclusive cache= crossmounts
    nocrossmounts xattr_names=linux xattr_names=mac xattr_names=both posixacl=translate posixacl=off portable_acl=on portable_acl=off special=gate
    special=open passthrough=auto passthrough=off
    transport=auto transport=uring transport=dev zerofill=write zerofill=allocate zerofill=off zerofill_max= zerofill_budget=off
    zerofill_budget= unknown99 allow_other source_mode=require-private fsname= sandbox= bundle= home= layout=macos layout=ios audit=off
    audit=denied audit=all audit_log= audit_limit= audit_user_limit= kernel_features=-epoch kernel_features=-passthrough
    kernel_features=-uring kernel_features=-statx kernel_features=-killpriv2 kernel_features=-expire kernel_features=-beneath
    kernel_features=-fanotify suid nosuid
    dev nodev exec noexec sync async dirsync atime noatime diratime nodiratime relatime norelatime symfollow nosymfollow strictatime
    nostrictatime context= fscontext= defcontext= rootcontext= remount nofail'
end

function __aclfs_flags
    string match -ra '\S+' -- '
    nodump dump uchg nouchg uappnd nouappnd opaque noopaque hidden nohidden arch noarch
    schg noschg sappnd nosappnd sunlnk nosunlnk'
end

set -l commands mount unmount status chmod ls chflags owner backup purge acl propagate inherit explicit strip copy-mode preset volume restore report sandbox explain effective doctor fstab-line conformance help version
set -l none "not __fish_seen_subcommand_from $commands"

complete -c aclfs -n $none -f -a mount -d 'Serve a directory at a mount point'
complete -c aclfs -n $none -f -a unmount -d 'End a mount, also a dead one'
complete -c aclfs -n $none -f -a status -d 'Show mounts, options and counters'
complete -c aclfs -n $none -f -a doctor -d 'What stands in the way of a mount, and what to do'
complete -c aclfs -n $none -f -a fstab-line -d 'The line of /etc/fstab for a mount'
complete -c aclfs -n $none -f -a conformance -d 'Whether a mount behaves as documented'
complete -c aclfs -n '__fish_seen_subcommand_from conformance' -f -a '(__aclfs_mounts)'
complete -c aclfs -n '__fish_seen_subcommand_from conformance' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from conformance' -l users -x -d 'The first uid and gid of the users'
complete -c aclfs -n '__fish_seen_subcommand_from doctor fstab-line' -a '(__fish_complete_directories)'
complete -c aclfs -n '__fish_seen_subcommand_from doctor' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from fstab-line' -l automount -d 'Mount it when it is entered'
complete -c aclfs -n $none -f -a chmod -d 'Change modes and ACL entries'
complete -c aclfs -n $none -f -a ls -d 'List with entries and flags'
complete -c aclfs -n $none -f -a chflags -d 'Change file flags'
complete -c aclfs -n $none -f -a owner -d 'Show and change owners'
complete -c aclfs -n $none -f -a backup -d 'Exclude from backup, and list what is'
complete -c aclfs -n $none -f -a purge -d 'Remove old files from caches of containers'
complete -c aclfs -n $none -f -a acl -d 'Export, import, compare and copy metadata of trees'
complete -c aclfs -n $none -f -a propagate -d 'Inheritable entries of a directory to all below'
complete -c aclfs -n $none -f -a inherit -d 'Inheritable entries of its directory to an object'
complete -c aclfs -n $none -f -a explicit -d 'Make inherited entries explicit'
complete -c aclfs -n $none -f -a strip -d 'Remove entries of a tree'
complete -c aclfs -n $none -f -a copy-mode -d 'Owner, group and mode of a directory to all below'
complete -c aclfs -n $none -f -a preset -d 'Ready-made folders'
complete -c aclfs -n $none -f -a volume -d 'Settings of a backing directory for each mount'
complete -c aclfs -n $none -f -a restore -d 'Undo a command on a tree'
complete -c aclfs -n $none -f -a report -d 'Write a page that says who may do what'
complete -c aclfs -n $none -f -a sandbox -d 'Check profiles, grant files to applications, run them'
complete -c aclfs -n $none -f -a explain -d 'Say whether an operation is allowed, and why'
complete -c aclfs -n $none -f -a effective -d 'List every right that a user has'
complete -c aclfs -n $none -f -a help -d 'Show help'
complete -c aclfs -n $none -f -a version -d 'Show the version'
complete -c aclfs -n '__fish_seen_subcommand_from help' -f -a "$commands"

complete -c aclfs -n '__fish_seen_subcommand_from mount' -s f -d 'Stay in the foreground'
complete -c aclfs -n '__fish_seen_subcommand_from mount' -s d -d 'Show requests'
complete -c aclfs -n '__fish_seen_subcommand_from mount fstab-line' -s o -x -d 'Mount options' \
    -a '(__aclfs_list "" (__aclfs_token) (__aclfs_mount_words))'
complete -c aclfs -n '__fish_seen_subcommand_from fstab-line' -l options -x -d 'Mount options' \
    -a '(__aclfs_list "" (__aclfs_token) (__aclfs_mount_words))'
complete -c aclfs -n '__fish_seen_subcommand_from unmount' -s f -d 'Even if the daemon hangs'
complete -c aclfs -n '__fish_seen_subcommand_from unmount status' -f -a '(__aclfs_mounts)'
complete -c aclfs -n '__fish_seen_subcommand_from status explain effective' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -l who-can -d 'List the users to whom it is allowed'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -s R -l recursive -d 'With --who-can: also for all below'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -l last -d 'List the last denials'
complete -c aclfs -n '__fish_seen_subcommand_from explain effective' -l as -x -a '(__aclfs_subject)' -d 'The user to decide for'
complete -c aclfs -n '__fish_seen_subcommand_from chmod; and __aclfs_is_first' -a '+a +ai +a# +ai# -a -a# =a# -E -C -i -I -N'
complete -c aclfs -n '__fish_seen_subcommand_from chmod; and __aclfs_is_entry' -f -a '(__aclfs_entry)'
complete -c aclfs -n '__fish_seen_subcommand_from chmod chflags ls' -s R -l recursive -d 'All below'
complete -c aclfs -n '__fish_seen_subcommand_from chmod chflags' -s h -l no-dereference -d 'Change a link itself'
complete -c aclfs -n '__fish_seen_subcommand_from chmod chflags' -s f -l quiet -d 'Silent about refusals'
complete -c aclfs -n '__fish_seen_subcommand_from chmod chflags' -s v -l verbose -d 'Name what is changed'
complete -c aclfs -n '__fish_seen_subcommand_from chmod' -l offline -d 'No note on what is not mounted'
complete -c aclfs -n '__fish_seen_subcommand_from chflags' -s x -d 'Stay on one file system'
complete -c aclfs -n '__fish_seen_subcommand_from owner' -l user -x -a '(__fish_complete_users)' -d 'A user becomes the owner'
complete -c aclfs -n '__fish_seen_subcommand_from owner' -l group -x -a '(__fish_complete_groups)' -d 'A group becomes the owner'
complete -c aclfs -n '__fish_seen_subcommand_from owner' -l uuid -x -d 'An identity becomes the owner'
complete -c aclfs -n '__fish_seen_subcommand_from owner' -s h -l no-dereference -d 'A link itself'
complete -c aclfs -n '__fish_seen_subcommand_from owner' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s a -l all -d 'Names with a dot too'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s d -l directory -d 'A directory itself'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s h -l human-readable -d 'Sizes with units'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s r -l reverse -d 'The other way round'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s L -l dereference -d 'What links lead to'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s l -d 'Mode, owner, size and time'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s e -d 'Entries, with -l'
complete -c aclfs -n '__fish_seen_subcommand_from ls' -s O -d 'Flags, with -l'
complete -c aclfs -n '__fish_seen_subcommand_from acl; and not __fish_seen_subcommand_from export import diff copy remap' -f \
    -a 'export import diff copy remap'
complete -c aclfs -n '__fish_seen_subcommand_from export' -l sorted -d 'Names in their order'
complete -c aclfs -n '__fish_seen_subcommand_from export' -l from-mac -d 'What a Mac made'
complete -c aclfs -n '__fish_seen_subcommand_from export import; and __fish_seen_subcommand_from acl' -s n -l numeric -d 'Identities, not names'
complete -c aclfs -n '__fish_seen_subcommand_from export diff copy remap; and __fish_seen_subcommand_from acl' -l metadata -x -a 'auto trusted user' \
    -d 'Where entries are stored'
complete -c aclfs -n '__fish_seen_subcommand_from export diff copy remap import; and __fish_seen_subcommand_from acl' -l offline \
    -d 'Also what is not mounted'
complete -c aclfs -n '__fish_seen_subcommand_from export diff copy remap; and __fish_seen_subcommand_from acl' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from diff; and __fish_seen_subcommand_from acl' -l names -d 'Users of one name are the same'
complete -c aclfs -n '__fish_seen_subcommand_from diff import copy; and __fish_seen_subcommand_from acl' -l ignore -x \
    -a 'kind owner group mode flags backup acl' -d 'What is left out'
complete -c aclfs -n '__fish_seen_subcommand_from import copy; and __fish_seen_subcommand_from acl' -l set-id -d 'Also set-id bits'
complete -c aclfs -n '__fish_seen_subcommand_from copy remap; and __fish_seen_subcommand_from acl' -l dry-run -d 'Change nothing'
complete -c aclfs -n '__fish_seen_subcommand_from copy remap; and __fish_seen_subcommand_from acl' -l undo-file -r -d 'A new file'
complete -c aclfs -n '__fish_seen_subcommand_from copy remap import; and __fish_seen_subcommand_from acl' -l resume -d 'Go on with the undo file'
complete -c aclfs -n '__fish_seen_subcommand_from copy remap; and __fish_seen_subcommand_from acl' -l hard-links -d 'Also objects with names outside'
complete -c aclfs -n '__fish_seen_subcommand_from remap; and __fish_seen_subcommand_from acl' -l workers -x -d 'Number of threads'
complete -c aclfs -n '__fish_seen_subcommand_from copy remap; and __fish_seen_subcommand_from acl' -s v -l verbose -d 'Print each object'
complete -c aclfs -n '__fish_seen_subcommand_from import' -l map-user -x -d 'Another user: OLD=NEW'
complete -c aclfs -n '__fish_seen_subcommand_from import' -l map-group -x -d 'Another group: OLD=NEW'
complete -c aclfs -n '__fish_seen_subcommand_from import' -l map -r -d 'A file of such lines'
complete -c aclfs -n '__fish_seen_subcommand_from import' -l unknown -x -a 'refuse keep' -d 'Names without an account'
complete -c aclfs -n '__fish_seen_subcommand_from import' -l posix -d 'Import POSIX ACLs'
complete -c aclfs -n '__fish_seen_subcommand_from import' -l undo-file -r -d 'A new file'
complete -c aclfs -n '__fish_seen_subcommand_from import' -l metadata -x -a 'auto trusted user' -d 'Where entries are stored'
complete -c aclfs -n '__fish_seen_subcommand_from import restore' -l dry-run -d 'Change nothing'
complete -c aclfs -n '__fish_seen_subcommand_from import restore' -l hard-links -d 'Also objects with names outside'
complete -c aclfs -n '__fish_seen_subcommand_from import restore' -s v -l verbose -d 'Print each object'
complete -c aclfs -n '__fish_seen_subcommand_from import restore' -l json -d 'Print JSON'
# Of preset, apply has all options of these, undo and show some.
set -l tree propagate inherit explicit strip copy-mode apply
complete -c aclfs -n '__fish_seen_subcommand_from preset; and not __fish_seen_subcommand_from apply show undo' -f -a 'apply show undo'
complete -c aclfs -n '__fish_seen_subcommand_from apply show' -a 'drop-box append-only no-delete team-share read-only public'
complete -c aclfs -n '__fish_seen_subcommand_from apply show' -l group -x -a '(__fish_complete_groups)' -d 'Whose members are meant'
complete -c aclfs -n "__fish_seen_subcommand_from $tree undo" -l dry-run -d 'Change nothing'
complete -c aclfs -n "__fish_seen_subcommand_from $tree" -l undo-file -r -d 'A new file'
complete -c aclfs -n "__fish_seen_subcommand_from $tree" -l resume -d 'Go on with the undo file'
complete -c aclfs -n "__fish_seen_subcommand_from $tree undo" -l hard-links -d 'Also objects with names outside'
complete -c aclfs -n "__fish_seen_subcommand_from $tree" -l workers -x -a '1 2 4 8' -d 'Threads'
complete -c aclfs -n "__fish_seen_subcommand_from $tree show undo" -l offline -d 'Also what is not mounted'
complete -c aclfs -n "__fish_seen_subcommand_from $tree show undo volume" -l metadata -x -a 'auto trusted user' -d 'Where entries are stored'
complete -c aclfs -n "__fish_seen_subcommand_from $tree undo" -s v -l verbose -d 'Print each object'
complete -c aclfs -n "__fish_seen_subcommand_from $tree show undo volume" -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from explicit strip' -s R -l recursive -d 'Also all below'
complete -c aclfs -n '__fish_seen_subcommand_from strip' -l inherited -d 'Only the inherited entries'
complete -c aclfs -n '__fish_seen_subcommand_from copy-mode' -l keep-execute -d 'Files keep their execute bits'
complete -c aclfs -n '__fish_seen_subcommand_from volume' -l reset -d 'Remove all settings'
complete -c aclfs -n '__fish_seen_subcommand_from volume' -a 'acl noacl owners noowners'
complete -c aclfs -n '__fish_seen_subcommand_from restore undo' -l force -d 'Also objects that were changed since'
complete -c aclfs -n '__fish_seen_subcommand_from report' -a '(__fish_complete_directories)'
complete -c aclfs -n '__fish_seen_subcommand_from report' -s o -l output -r -d 'A new file'
complete -c aclfs -n '__fish_seen_subcommand_from report' -l force -d 'Replace the file'
complete -c aclfs -n '__fish_seen_subcommand_from report' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from report' -l offline -d 'Also what is not mounted'
complete -c aclfs -n '__fish_seen_subcommand_from report' -l metadata -x -a 'auto trusted user' -d 'Where entries are stored'
complete -c aclfs -n '__fish_seen_subcommand_from chflags; and __aclfs_is_first' -f \
    -a '(__aclfs_list "" (__aclfs_token) (__aclfs_flags))'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -a '
    open-read open-write open-append exec create mkdir unlink rmdir rename link chmod chown chflags setxattr
    getxattr listxattr stat readlink truncate utimes setacl access-r access-w access-x read write execute delete append list
    search add_file add_subdirectory delete_child readattr writeattr readextattr writeextattr readsecurity writesecurity'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and not __fish_seen_subcommand_from exclude include status list layout' \
    -f -a 'exclude include status list layout'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and __fish_seen_subcommand_from list' -s 0 -d 'End items in NUL'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and __fish_seen_subcommand_from list' -l format -x \
    -a 'null lines rsync tar restic borg' -d 'For which program'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and __fish_seen_subcommand_from list status' -l offline -d 'Read a backing directory'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and __fish_seen_subcommand_from layout; and not __fish_seen_subcommand_from ios container none' \
    -f -a 'ios container none'
complete -c aclfs -n '__fish_seen_subcommand_from purge' -l older-than -x -a '1d 3d 2w' -d 'How long it was not used'
complete -c aclfs -n '__fish_seen_subcommand_from purge' -l dry-run -d 'Print what would be removed'
complete -c aclfs -n '__fish_seen_subcommand_from purge' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from purge' -s v -l verbose -d 'Print each object'
complete -c aclfs -n '__fish_seen_subcommand_from sandbox; and not __fish_seen_subcommand_from check list grant run' \
    -f -a 'check list grant run'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and not __fish_seen_subcommand_from add list remove' \
    -f -a 'add list remove'
complete -c aclfs -n '__fish_seen_subcommand_from check; and __fish_seen_subcommand_from sandbox' \
    -a '(__aclfs_profiles)'
complete -c aclfs -n '__fish_seen_subcommand_from sandbox; and __fish_seen_subcommand_from check list' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from sandbox; and __fish_seen_subcommand_from check run grant' -l bundle -x -d 'The application'
complete -c aclfs -n '__fish_seen_subcommand_from check; and __fish_seen_subcommand_from sandbox' -s v -l verbose -d 'Also keys not about files'
complete -c aclfs -n '__fish_seen_subcommand_from check; and __fish_seen_subcommand_from sandbox' -l home -r -d 'From the mount\'s top'
complete -c aclfs -n '__fish_seen_subcommand_from check; and __fish_seen_subcommand_from sandbox' -l layout -x -a 'macos ios'
complete -c aclfs -n '__fish_seen_subcommand_from run; and __fish_seen_subcommand_from sandbox' -l home -r -d 'From the mount\'s top'
complete -c aclfs -n '__fish_seen_subcommand_from run; and __fish_seen_subcommand_from sandbox' -l layout -x -a 'macos ios'
complete -c aclfs -n '__fish_seen_subcommand_from run; and __fish_seen_subcommand_from sandbox' -l mount -x -a '(__aclfs_mounts)' -d 'The share'
complete -c aclfs -n '__fish_seen_subcommand_from run; and __fish_seen_subcommand_from sandbox' -a '(__aclfs_profiles)'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from list' -f -a '(__aclfs_mounts)'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from add' -l read-only -d 'Read and execute'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from add' -l read-write -d 'Read, write and execute'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from add' -l follow -d 'Grant the object, wherever it moves'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from add' -l expires -x -a '30m 12h 7d' -d 'When the grant ends'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from remove' -l below -d 'Also for paths below'
