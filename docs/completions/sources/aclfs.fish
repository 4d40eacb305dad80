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

@words

# What a command takes: the words below it and its options with a description, the kinds of options with a value, the kinds of its operands.
function __aclfs_command
    set -g __aclfs_below
    set -g __aclfs_options
    set -g __aclfs_values
    set -g __aclfs_operands
    switch $argv[1]
        @commands
    end
end

complete -c aclfs -f -a '(__aclfs_complete)'
complete -c aclfs -n __aclfs_wants_files -F
