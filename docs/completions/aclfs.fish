# fish completion for aclfs(1)
# Made by "make completions" from aclfs --help and docs/completions/sources/aclfs.fish. Change these, not this file.

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
    if set -l parts (string match -rg '^(.*[ :](?:allow|deny)[ :])([^ :]*)$' -- $token)
        __aclfs_list "$parts[1]" "$parts[2]" $__aclfs_entry_words
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

# MODE, or a change of the list with its position and entry.
function __aclfs_chmod
    switch "$__aclfs_before[1]:"(count $__aclfs_before)
        case ':0'
            printf '%s\n' $__aclfs_changes
        case '+a:1' '+ai:1' '-a:1' '+a#:2' '+ai#:2' '=a#:2'
            __aclfs_entry
        case '+a#:1' '+ai#:1' '=a#:1' '-a#:1'
            seq 0 9
    end
end

# What a kind offers: alternatives with | between, each a function, words with commas, or behind + such words as a list.
function __aclfs_offer -a kinds token before
    for kind in (string replace -a '*' '' -- $kinds | string split '|')
        switch $kind
            case @none @files
            case @directories
                __fish_complete_directories $token
            case @mounts
                __aclfs_mounts
            case @users
                __fish_complete_users
            case @groups
                __fish_complete_groups
            case @subject
                __aclfs_subject
            case @options
                if set -l parts (string match -rg '^(.*,|)sandbox=[^,]*$' -- $token)
                    printf "$parts[1]sandbox=%s\n" (__aclfs_profiles)
                else
                    __aclfs_list '' $token $__aclfs_mount_words
                end
            case @profile
                __aclfs_profiles
            case @command
                if not contains -- -- (commandline -opc)
                    printf '%s\n' $__aclfs_options
                else if test (count $__aclfs_before) -eq 1
                    complete -C (string escape -- $token)
                end
            case @commands
                printf '%s\n' $__aclfs_command_words
            case @operations
                printf '%s\n' $__aclfs_operations
            case @flags
                __aclfs_list '' $token $__aclfs_flags
            case '+*'
                __aclfs_list "$before" $token (string split , -- (string sub -s 2 -- $kind))
            case '*'
                printf "$before%s\n" (string split , -- $kind)
        end
    end
end

# What stands before the cursor: the command, its operands, and what kind is expected at the cursor.
function __aclfs_parse
    set -g __aclfs_before
    set -g __aclfs_kind
    set -g __aclfs_name
    set -l words (commandline -opc)[2..]
    set -l ended
    __aclfs_command ''
    for word in $words
        if test -n "$__aclfs_kind"
            set -g __aclfs_kind
        else if set -q __aclfs_below[1]
            set -g __aclfs_name (string trim -- "$__aclfs_name $word")
            __aclfs_command "$__aclfs_name" $words
        else if test "$word" = --
            set ended 1
        else if string match -q -- '-*' "$word"; and test -z "$ended"
            and not begin
                test "$__aclfs_name" = chmod; and not set -q __aclfs_before[1]; and contains -- "$word" $__aclfs_changes
            end
            set -g __aclfs_kind (string match -rg -- '^'(string escape --style=regex -- $word)'=(.*)' $__aclfs_values)
        else
            set -ga __aclfs_before $word
        end
    end
    set -g __aclfs_wants_option
    test -n "$__aclfs_kind"; and return
    if test -z "$__aclfs_operands"; and test "$__aclfs_name" != chmod; or string match -q -- '-*' (commandline -ct); and test -z "$ended"
        set -g __aclfs_wants_option 1
    else
        # The last one may repeat.
        set -l place (math (count $__aclfs_before) + 1)
        if test $place -gt (count $__aclfs_operands); and string match -q '*\*' -- "$__aclfs_operands[-1]"
            set place -1
        end
        set -g __aclfs_kind $__aclfs_operands[$place]
    end
end

function __aclfs_complete
    __aclfs_parse
    if set -q __aclfs_below[1]
        printf '%s\n' $__aclfs_below
    else if test -z "$__aclfs_wants_option"
        test "$__aclfs_name" = chmod; and __aclfs_chmod; or __aclfs_offer "$__aclfs_kind" (__aclfs_token)
    else if set -l value (string match -rg -- '^(--[^=]*)=(.*)$' (commandline -ct))
        __aclfs_offer (string match -rg -- '^'(string escape --style=regex -- $value[1])'=(.*)' $__aclfs_values) "$value[2]" "$value[1]="
    else
        printf '%s\n' $__aclfs_options
        test "$__aclfs_name" = chmod; and not set -q __aclfs_before[1]; and printf '%s\n' $__aclfs_changes
    end
end

function __aclfs_wants_files
    __aclfs_parse
    test -z "$__aclfs_wants_option"; and not set -q __aclfs_below[1]; or return 1
    if test "$__aclfs_name" = chmod
        set -q __aclfs_before[1]; and test -z (__aclfs_chmod)[1]
    else
        string match -qr '@(files|profile|command)([*|]|$)' -- "$__aclfs_kind"
    end
end

set -g __aclfs_command_words (string match -ra '\S+' -- 'mount unmount upgrade status doctor fstab-line conformance chmod ls chflags owner backup purge acl propagate inherit explicit strip
    copy-mode preset volume restore explain effective report sandbox help version')
set -g __aclfs_changes (string match -ra '\S+' -- '+a +ai +a# +ai# -a -a# =a# -E -i -I -N -C')
set -g __aclfs_entry_words (string match -ra '\S+' -- 'read list write add_file execute search delete append add_subdirectory delete_child readattr writeattr readextattr writeextattr
    readsecurity writesecurity chown full_control modify_set read_set write_set file_inherit directory_inherit limit_inherit only_inherit
    inherited')
set -g __aclfs_operations (string match -ra '\S+' -- 'open-read open-write open-append exec create mkdir unlink rmdir rename link chown chmod chflags setxattr getxattr listxattr stat
    readlink truncate utimes setacl access-r access-w access-x read list write add_file execute search delete append add_subdirectory
    delete_child readattr writeattr readextattr writeextattr readsecurity writesecurity')
set -g __aclfs_flags (string match -ra '\S+' -- 'uchg nouchg uappnd nouappnd nodump dump opaque noopaque hidden nohidden schg noschg sappnd nosappnd sunlnk nosunlnk arch noarch')
set -g __aclfs_mount_words (string match -ra '\S+' -- 'owners noowners acl noacl securelevel= grpid nogrpid bsdgroups sysvgroups suiddir nosuiddir suiddir=all groups=process
    groups=directory groups_cache= identities= rootsquash rootsquash= metadata=auto metadata=trusted metadata=user list_room= cache=auto
    cache=strict cache=exclusive cache= unknown99 kernel_features=-epoch kernel_features=-passthrough kernel_features=-uring
    kernel_features=-statx kernel_features=-killpriv2 kernel_features=-expire kernel_features=-beneath kernel_features=-fanotify
    kernel_features=-resend transport=auto transport=uring transport=dev special=gate special=open passthrough=auto passthrough=off
    zerofill=write zerofill=allocate zerofill=off zerofill_max= zerofill_budget= zerofill_budget=off restarts= sandboxing=caps
    sandboxing=none xattr_names=linux xattr_names=mac xattr_names=both posixacl=translate posixacl=off portable_acl=on portable_acl=off
    crossmounts nocrossmounts source_mode=require-private fsname= audit=off audit=denied audit=all audit_log= audit_limit=
    audit_user_limit= sandbox= bundle= home= layout=macos layout=ios allow_other remount nofail rw ro nosuid suid nodev dev exec noexec
    async sync dirsync atime noatime diratime nodiratime norelatime relatime nostrictatime strictatime symfollow nosymfollow context=
    fscontext= defcontext= rootcontext=')

# What a command takes: the words below it and its options with a description, the kinds of options with a value, the kinds of its operands.
function __aclfs_command
    set -g __aclfs_below
    set -g __aclfs_options
    set -g __aclfs_values
    set -g __aclfs_operands
    switch $argv[1]
        case ''
            set -g __aclfs_below \
                mount\t'Serve a directory' unmount\t'End a mount, even a dead one' \
                upgrade\t'Serve a mount by the program as it is installed now' status\t'Options in force, kernel features, decisions' \
                doctor\t'What stands in the way of a mount' fstab-line\t'The line of /etc/fstab for a mount' \
                conformance\t'Whether a mount behaves as documented' chmod\t'Change modes and lists of entries' \
                ls\t'List with entries, flags and attributes' chflags\t'Change BSD file flags' owner\t'Show and change owners' \
                backup\t'Exclude objects from backups' purge\t'Remove old files from caches of containers' \
                acl\t'Export, import, compare and copy metadata of trees' propagate\t'Inheritable entries of a directory to all below' \
                inherit\t'Inheritable entries of its directory to an object' explicit\t'Make inherited entries explicit' \
                strip\t'Remove entries of a tree' copy-mode\t'Give owner, group and mode to everything below' \
                preset\t'Ready-made folders' volume\t'Settings of a backing directory for each mount' \
                restore\t'Undo a command that wrote an undo file' explain\t'Whether an operation is allowed, and why' \
                effective\t'Every right on an object, and its rule' report\t'A page: who may do what where' \
                sandbox\t'Profiles, grants, confined commands' help\t'What one command takes, with its words and examples' \
                version\t'The version of aclfs'
        case 'backup'
            set -g __aclfs_below \
                exclude include status list layout
        case 'acl'
            set -g __aclfs_below \
                export\t'Writes lists, flags, owner, group' import\t'Gives objects the metadata that an export states' \
                diff\t'Where lists, flags, owner, group' copy\t'Gives objects the lists, flags, owner, group' \
                remap\t'Puts another user or group in the place of one: in lists'
        case 'preset'
            set -g __aclfs_below \
                apply\t'Turns a directory, with everything in it' show\t'The presets' \
                undo\t'Undoes the preset that was applied to a directory last'
        case 'sandbox'
            set -g __aclfs_below \
                check\t'Whether a sandbox profile is valid' list\t'The installed profiles' grant \
                run\t'Runs a command that sees a share only as a profile allows'
        case 'sandbox grant'
            set -g __aclfs_below \
                add\t'Lets an application reach a file or a folder that the user chose' \
                list\t'The grants on one mount, or on all that the caller may ask' remove\t'Revokes grants at once'
        case 'mount'
            set -g __aclfs_options \
                -f\t'Stays in the foreground' -d\t'Shows requests' -o\t'Options with commas between' --help
            set -g __aclfs_values \
                '-o=@options'
            set -g __aclfs_operands \
                '@directories' '@directories'
        case 'unmount'
            set -g __aclfs_options \
                -f\t'Even if the daemon hangs or files are open' --help
            set -g __aclfs_operands \
                '@mounts'
        case 'upgrade'
            set -g __aclfs_options \
                --all\t'All mounts of root’s' -q\t'Print only what could not be upgraded' \
                --quiet\t'Print only what could not be upgraded' --help
            set -g __aclfs_operands \
                '@mounts*' '@none' '@none'
        case 'status'
            set -g __aclfs_options \
                --json\t'JSON instead of text' --help
            set -g __aclfs_operands \
                '@mounts'
        case 'doctor'
            set -g __aclfs_options \
                --json\t'JSON instead of text' --help
            set -g __aclfs_operands \
                '@directories' '@directories'
        case 'fstab-line'
            set -g __aclfs_options \
                -o\t'As for aclfs mount' --options\t'As for aclfs mount' --automount\t'Systemd mounts it when a program enters it' --help
            set -g __aclfs_values \
                '-o=@options' '--options=@options'
            set -g __aclfs_operands \
                '@directories' '@directories'
        case 'conformance'
            set -g __aclfs_options \
                --json\t'JSON instead of TAP' --users\t'The first of the 5 numbers that stand for users and groups' --help
            set -g __aclfs_values \
                '--users=@none'
            set -g __aclfs_operands \
                '@mounts'
        case 'chmod'
            set -g __aclfs_options \
                -R\t'Also all below' --recursive\t'Also all below' -h\t'Changes a link itself' --no-dereference\t'Changes a link itself' \
                -f\t'Is silent about what the system refuses' --quiet\t'Is silent about what the system refuses' \
                -v\t'Names what is changed' --verbose\t'Names what is changed' \
                --offline\t'Sets a MODE also on files that are not on a mount' -H -L -P --help
            set -g __aclfs_operands
        case 'ls'
            set -g __aclfs_options \
                -l\t'Mode, links, owner, group, size and time' -e\t'Entries of lists, with -l' -O\t'File flags, with -l' \
                -@\t'Extended attributes, with -l' -d\t'A directory itself' --directory\t'A directory itself' \
                -a\t'Names that begin with a dot' --all\t'Names that begin with a dot' -n\t'Numbers and UUIDs instead of names' \
                -h\t'Sizes with units' --human-readable\t'Sizes with units' -t\t'Most recently modified first' -S\t'Largest first' \
                -r\t'Reversed' --reverse\t'Reversed' -R\t'Also all below' --recursive\t'Also all below' -L\t'The targets of links' \
                --dereference\t'The targets of links' -1\t'One name a line (always so)' -le -leO --help
            set -g __aclfs_operands \
                '@files*'
        case 'chflags'
            set -g __aclfs_options \
                -R\t'Also all below' --recursive\t'Also all below' -h\t'Changes a link itself' --no-dereference\t'Changes a link itself' \
                -f\t'Is silent about what the system refuses' --quiet\t'Is silent about what the system refuses' \
                -v\t'Names what is changed' --verbose\t'Names what is changed' -x\t'Stays on one file system' -H -L -P --help
            set -g __aclfs_operands \
                '@flags' '@files*'
        case 'owner'
            set -g __aclfs_options \
                --user\t'A user, by name or number, becomes the owner' --group\t'A group, by name or number' \
                --uuid\t'An identity without a number here' -h\t'A link itself' --no-dereference\t'A link itself' \
                --json\t'Shows the owners as JSON' --help
            set -g __aclfs_values \
                '--user=@users' '--group=@groups' '--uuid=@none'
            set -g __aclfs_operands \
                '@files*'
        case 'backup exclude'
            set -g __aclfs_options \
                --help
            set -g __aclfs_operands \
                '@files*'
        case 'backup include'
            set -g __aclfs_options \
                --help
            set -g __aclfs_operands \
                '@files*'
        case 'backup status'
            set -g __aclfs_options \
                --json\t'Prints the status as JSON' --offline\t'Reads a backing directory instead of a mount' --help
            set -g __aclfs_operands \
                '@files*'
        case 'backup list'
            set -g __aclfs_options \
                -0\t'Ends each item of a list in NUL' --null\t'Ends each item of a list in NUL' \
                --format\t'For which program a list is: lines (default), null, rsync' \
                --offline\t'Reads a backing directory instead of a mount' --help
            set -g __aclfs_values \
                '--format=lines,null,rsync,tar,restic,borg'
            set -g __aclfs_operands \
                '@files*'
        case 'backup layout'
            set -g __aclfs_options \
                --help
            set -g __aclfs_operands \
                'ios,container,none' '@files*'
        case 'purge'
            set -g __aclfs_options \
                --older-than\t'Remove what was neither read nor changed for this long' \
                --dry-run\t'Print what would be removed, and remove nothing' --json\t'One line of JSON for each object' \
                -v\t'Print each object that is removed' --verbose\t'Print each object that is removed' --help
            set -g __aclfs_values \
                '--older-than=30m,12h,3d,2w'
            set -g __aclfs_operands \
                '@files*'
        case 'acl export'
            set -g __aclfs_options \
                --json\t'A line of JSON for each object instead of text' --sorted\t'Names in the order of their bytes' \
                -n\t'UUIDs and numbers instead of names' --numeric\t'UUIDs and numbers instead of names' \
                --from-mac\t'Read what a Mac made: the output of ls -leR@O' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' --help
            set -g __aclfs_values \
                '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                '@files'
        case 'acl import'
            set -g __aclfs_options \
                --posix\t'Import the POSIX ACLs of a backing directory' --map-user\t'Map the user OLD of the export to NEW' \
                --map-group\t'Map the group OLD of the export to NEW' --map\t'A file with lines user:OLD=NEW and group:OLD=NEW' \
                --unknown\t'What to do with a name that has no account here' -n\t'Use the identities of the export, not its names' \
                --numeric\t'Use the identities of the export, not its names' \
                --ignore\t'What stays as it is: owner, group, mode, flags, backup, acl' \
                --set-id\t'Also set-id bits that files do not have' --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the import' \
                --resume\t'Go on with the undo file of an import that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' --help
            set -g __aclfs_values \
                '--map-user=@none' '--map-group=@none' '--map=@files' '--unknown=refuse,keep' \
                '--ignore=+owner,group,mode,flags,backup,acl' '--undo-file=@files' '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                '@files' '@files'
            if contains -- --posix $argv[2..]
                set -g __aclfs_operands \
                    '@directories'
            end
        case 'acl diff'
            set -g __aclfs_options \
                --json\t'A line of JSON for each difference' --names\t'Users and groups of the same name are the same' \
                --ignore\t'What is not compared: kind, owner, group, mode, flags' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' --help
            set -g __aclfs_values \
                '--ignore=+kind,owner,group,mode,flags,backup,acl' '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                '@files' '@files'
        case 'acl copy'
            set -g __aclfs_options \
                --ignore\t'What stays as it is: owner, group, mode, flags, backup, acl' \
                --set-id\t'Also set-id bits that files do not have' --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' --help
            set -g __aclfs_values \
                '--ignore=+owner,group,mode,flags,backup,acl' '--undo-file=@files' '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                '@files' '@files'
        case 'acl remap'
            set -g __aclfs_options \
                --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' \
                --workers\t'The number of threads' --help
            set -g __aclfs_values \
                '--undo-file=@files' '--metadata=auto,trusted,user' '--workers=1,2,4,8'
            set -g __aclfs_operands \
                '@users|@groups' '@users|@groups' '@files'
        case 'propagate'
            set -g __aclfs_options \
                --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' \
                --workers\t'The number of threads' --help
            set -g __aclfs_values \
                '--undo-file=@files' '--metadata=auto,trusted,user' '--workers=1,2,4,8'
            set -g __aclfs_operands \
                '@directories'
        case 'inherit'
            set -g __aclfs_options \
                --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' \
                --workers\t'The number of threads' --help
            set -g __aclfs_values \
                '--undo-file=@files' '--metadata=auto,trusted,user' '--workers=1,2,4,8'
            set -g __aclfs_operands \
                '@files'
        case 'explicit'
            set -g __aclfs_options \
                -R\t'Also all below PATH' --recursive\t'Also all below PATH' --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' \
                --workers\t'The number of threads' --help
            set -g __aclfs_values \
                '--undo-file=@files' '--metadata=auto,trusted,user' '--workers=1,2,4,8'
            set -g __aclfs_operands \
                '@files'
        case 'strip'
            set -g __aclfs_options \
                -R\t'Also all below PATH' --recursive\t'Also all below PATH' --inherited\t'Only the inherited entries' \
                --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' \
                --workers\t'The number of threads' --help
            set -g __aclfs_values \
                '--undo-file=@files' '--metadata=auto,trusted,user' '--workers=1,2,4,8'
            set -g __aclfs_operands \
                '@files'
        case 'copy-mode'
            set -g __aclfs_options \
                --keep-execute\t'Files keep their own execute bits' --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' \
                --workers\t'The number of threads' --help
            set -g __aclfs_values \
                '--undo-file=@files' '--metadata=auto,trusted,user' '--workers=1,2,4,8'
            set -g __aclfs_operands \
                '@directories'
        case 'preset apply'
            set -g __aclfs_options \
                --group\t'Whose members the entries name' --dry-run\t'Print what would change, and change nothing' \
                --undo-file\t'A new file, from which aclfs restore undoes the changes' \
                --resume\t'Go on with the undo file of a run that was interrupted' \
                --hard-links\t'Also objects with hard links outside of the tree' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is changed, with its entries' \
                --verbose\t'Print each object that is changed, with its entries' --json\t'One line of JSON for each object' \
                --workers\t'The number of threads' --help
            set -g __aclfs_values \
                '--group=@groups' '--undo-file=@files' '--metadata=auto,trusted,user' '--workers=1,2,4,8'
            set -g __aclfs_operands \
                'drop-box,append-only,no-delete,team-share,read-only,public' '@directories'
        case 'preset show'
            set -g __aclfs_options \
                --json\t'JSON instead of text' --group\t'Whose members the entries name' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' --help
            set -g __aclfs_values \
                '--group=@groups' '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                'drop-box,append-only,no-delete,team-share,read-only,public' '@directories'
        case 'preset undo'
            set -g __aclfs_options \
                --dry-run\t'Print what would be restored, and change nothing' --force\t'Also objects that were changed after the preset' \
                --hard-links\t'Also objects that have more hard links than at that time' \
                --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' -v\t'Print each object that is restored' \
                --verbose\t'Print each object that is restored' --json\t'One line of JSON for each object' --help
            set -g __aclfs_values \
                '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                '@directories'
        case 'volume'
            set -g __aclfs_options \
                --reset\t'Remove all settings first' --metadata\t'Where the directory has its entries, as the mount option' \
                --json\t'JSON instead of text' --help
            set -g __aclfs_values \
                '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                '@directories' 'owners,noowners|acl,noacl' 'owners,noowners'
        case 'restore'
            set -g __aclfs_options \
                --dry-run\t'Print what would be restored, and change nothing' --force\t'Also objects that were changed after the command' \
                --hard-links\t'Also objects that have more hard links than at that time' -v\t'Print each object that is restored' \
                --verbose\t'Print each object that is restored' --json\t'One line of JSON for each object' --help
            set -g __aclfs_operands \
                '@files' '@directories'
        case 'explain'
            set -g __aclfs_options \
                --json\t'JSON instead of text' --as\t'The user to decide for' \
                --who-can\t'List the users to whom the operation is allowed' \
                -R\t'With --who-can: also for all below PATH, as they are found' \
                --recursive\t'With --who-can: also for all below PATH, as they are found' \
                --last\t'List the last 20 denials, or the last N' --help
            set -g __aclfs_values \
                '--as=@subject'
            set -g __aclfs_operands \
                '@operations' '@files' '@files'
            if contains -- --who-can $argv[2..]
                set -g __aclfs_operands \
                    '@operations' '@files'
            end
            if contains -- --last $argv[2..]
                set -g __aclfs_operands \
                    '@mounts|5,10,20,100' '@mounts'
            end
        case 'effective'
            set -g __aclfs_options \
                --json\t'JSON instead of text' --as\t'The user to decide for' --help
            set -g __aclfs_values \
                '--as=@subject'
            set -g __aclfs_operands \
                '@files'
        case 'report'
            set -g __aclfs_options \
                -o\t'A new file for the page' --output\t'A new file for the page' --force\t'Replace FILE' \
                --json\t'Lines of JSON instead of a page' --offline\t'Accept a backing directory that is not mounted, too' \
                --metadata\t'Where a backing directory stores its entries' --help
            set -g __aclfs_values \
                '-o=@files' '--output=@files' '--metadata=auto,trusted,user'
            set -g __aclfs_operands \
                '@directories'
        case 'sandbox check'
            set -g __aclfs_options \
                --json\t'JSON instead of text' -v\t'Also name the keys that are not about files' \
                --verbose\t'Also name the keys that are not about files' \
                --bundle\t'The bundle identifier of the application whose container is included' \
                --home\t'The home folder, as a path from the top of the mount' --layout\t'The layout of the container' --help
            set -g __aclfs_values \
                '--bundle=@none' '--home=@none' '--layout=macos,ios'
            set -g __aclfs_operands \
                '@profile' '@files*'
        case 'sandbox list'
            set -g __aclfs_options \
                --json\t'JSON instead of text' --help
            set -g __aclfs_operands
        case 'sandbox grant add'
            set -g __aclfs_options \
                --bundle\t'The bundle identifier of the application' --read-only\t'Allow reading and executing' \
                --read-write\t'Allow reading, writing and executing' --follow\t'Grant the object instead of the path' \
                --expires\t'When the grant ends: 30m, 12h, 7d, ’2026-12-31 18:00’' --help
            set -g __aclfs_values \
                '--bundle=@none' '--expires=30m,12h,7d'
            set -g __aclfs_operands \
                '@files*'
        case 'sandbox grant list'
            set -g __aclfs_options \
                --json\t'JSON instead of text' --bundle\t'List only the grants of this application' --help
            set -g __aclfs_values \
                '--bundle=@none'
            set -g __aclfs_operands \
                '@mounts'
        case 'sandbox grant remove'
            set -g __aclfs_options \
                --bundle\t'The bundle identifier of the application' --below\t'Also revoke all grants for paths below PATH' --help
            set -g __aclfs_values \
                '--bundle=@none'
            set -g __aclfs_operands \
                '@files*'
        case 'sandbox run'
            set -g __aclfs_options \
                --bundle\t'The application’s bundle identifier' --home\t'The home folder, as a path from the top of the mount' \
                --layout\t'The layout of the container: macos (default) or ios' --mount\t'The mount point of the share' -- --help
            set -g __aclfs_values \
                '--bundle=@none' '--home=@none' '--layout=macos,ios' '--mount=@mounts'
            set -g __aclfs_operands \
                '@profile' '@command*'
        case 'help'
            set -g __aclfs_options \
                --help
            set -g __aclfs_operands \
                '@commands'
        case 'version'
            set -g __aclfs_options \
                --help
            set -g __aclfs_operands
        case '*'
            set -g __aclfs_options \
                -o --help
            set -g __aclfs_values \
                '-o=@options'
            set -g __aclfs_operands \
                '@directories' '@directories'
    end
end

complete -c aclfs -f -a '(__aclfs_complete)'
complete -c aclfs -n __aclfs_wants_files -F
