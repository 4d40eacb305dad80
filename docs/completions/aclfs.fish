# fish completion for aclfs(1)

function __aclfs_mounts
    awk '$3 == "fuse.aclfs" { print $2 }' /proc/self/mounts
end

set -l commands mount unmount status chmod ls chflags backup sandbox explain effective doctor fstab-line conformance help version
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
complete -c aclfs -n $none -f -a backup -d 'Exclude from backup, and list what is'
complete -c aclfs -n $none -f -a sandbox -d 'Check profiles, grant files to applications, run them'
complete -c aclfs -n $none -f -a explain -d 'Say whether an operation is allowed, and why'
complete -c aclfs -n $none -f -a effective -d 'List every right that a user has'
complete -c aclfs -n $none -f -a help -d 'Show help'
complete -c aclfs -n $none -f -a version -d 'Show the version'

complete -c aclfs -n '__fish_seen_subcommand_from mount' -s f -d 'Stay in the foreground'
complete -c aclfs -n '__fish_seen_subcommand_from mount' -s d -d 'Show requests'
complete -c aclfs -n '__fish_seen_subcommand_from mount' -s o -x -d 'Mount options' -a '
    ro rw securelevel= owners noowners acl noacl grpid nogrpid bsdgroups sysvgroups suiddir nosuiddir suiddir=all groups=process
    groups=directory groups_cache= metadata=auto metadata=trusted metadata=user cache=auto cache=strict cache=exclusive cache= crossmounts
    nocrossmounts xattr_names=linux xattr_names=mac xattr_names=both posixacl=translate posixacl=off portable_acl=on portable_acl=off special=gate
    special=open passthrough=auto passthrough=off
    transport=auto transport=uring transport=dev zerofill=write zerofill=allocate zerofill=off zerofill_max= zerofill_budget=off
    zerofill_budget= unknown99 allow_other source_mode=require-private fsname= sandbox= bundle= home= layout=macos layout=ios audit=off
    audit=denied audit=all audit_log= audit_limit= audit_user_limit= kernel_features=-epoch kernel_features=-passthrough
    kernel_features=-uring kernel_features=-statx kernel_features=-killpriv2 kernel_features=-expire kernel_features=-beneath
    kernel_features=-fanotify suid nosuid
    dev nodev exec noexec sync async dirsync atime noatime diratime nodiratime relatime norelatime symfollow nosymfollow strictatime
    nostrictatime context= fscontext= defcontext= rootcontext= remount'
complete -c aclfs -n '__fish_seen_subcommand_from unmount' -s f -d 'Even if the daemon hangs'
complete -c aclfs -n '__fish_seen_subcommand_from unmount status' -f -a '(__aclfs_mounts)'
complete -c aclfs -n '__fish_seen_subcommand_from status explain effective' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -l who-can -d 'List the users to whom it is allowed'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -s R -l recursive -d 'With --who-can: also for all below'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -l last -d 'List the last denials'
complete -c aclfs -n '__fish_seen_subcommand_from explain effective' -l as -x -a '(__fish_complete_users)' -d 'The user to decide for'
complete -c aclfs -n '__fish_seen_subcommand_from chmod' -a '+a +ai +a# +ai# -a -a# =a# -E -C -i -I -N'
complete -c aclfs -n '__fish_seen_subcommand_from chmod chflags ls' -l recursive -d 'All below'
complete -c aclfs -n '__fish_seen_subcommand_from chflags' -a '
    nodump dump uchg nouchg uappnd nouappnd opaque noopaque hidden nohidden arch noarch schg noschg sappnd nosappnd
    sunlnk nosunlnk'
complete -c aclfs -n '__fish_seen_subcommand_from explain' -a '
    open-read open-write open-append exec create mkdir unlink rmdir rename link chmod chown chflags setxattr
    getxattr listxattr stat readlink truncate utimes setacl access-r access-w access-x read write execute delete append list
    search add_file add_subdirectory delete_child readattr writeattr readextattr writeextattr readsecurity writesecurity'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and not __fish_seen_subcommand_from exclude include status list' \
    -f -a 'exclude include status list'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and __fish_seen_subcommand_from list' -s 0 -d 'End items in NUL'
complete -c aclfs -n '__fish_seen_subcommand_from backup; and __fish_seen_subcommand_from list' -l format -x \
    -a 'null lines rsync tar restic borg' -d 'For which program'
complete -c aclfs -n '__fish_seen_subcommand_from sandbox; and not __fish_seen_subcommand_from check list grant run' \
    -f -a 'check list grant run'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and not __fish_seen_subcommand_from add list remove' \
    -f -a 'add list remove'
complete -c aclfs -n '__fish_seen_subcommand_from check; and __fish_seen_subcommand_from sandbox' \
    -a '(aclfs sandbox list 2>/dev/null | string match -rg "^([^:/ ]+)  /")'
complete -c aclfs -n '__fish_seen_subcommand_from sandbox' -l json -d 'Print JSON'
complete -c aclfs -n '__fish_seen_subcommand_from sandbox' -l bundle -x -d 'The application'
complete -c aclfs -n '__fish_seen_subcommand_from check; and __fish_seen_subcommand_from sandbox' -l home -r -d 'From the mount\'s top'
complete -c aclfs -n '__fish_seen_subcommand_from check; and __fish_seen_subcommand_from sandbox' -l layout -x -a 'macos ios'
complete -c aclfs -n '__fish_seen_subcommand_from run; and __fish_seen_subcommand_from sandbox' -l home -r -d 'From the mount\'s top'
complete -c aclfs -n '__fish_seen_subcommand_from run; and __fish_seen_subcommand_from sandbox' -l layout -x -a 'macos ios'
complete -c aclfs -n '__fish_seen_subcommand_from run; and __fish_seen_subcommand_from sandbox' -l mount -r -d 'The share'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from add' -l read-only -d 'Read and execute'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from add' -l read-write -d 'Read, write and execute'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from add' -l expires -x -d 'When the grant ends'
complete -c aclfs -n '__fish_seen_subcommand_from grant; and __fish_seen_subcommand_from remove' -l below -d 'Also for paths below'
