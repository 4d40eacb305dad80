// Acts as one user: takes on an identity, then performs one system call per line of input and prints
// `ok`, with a value after a tab where the call has one, or the name of the errno.
//
//     aclfs-act UID GID GROUPS [RUID RGID]              lines on standard input
//     aclfs-act UID GID GROUPS [RUID RGID] -- COMMAND…  runs a command instead
//
// GROUPS are numbers joined by commas, `-` for none. Words of a line are separated by tabs; a byte that is
// no plain character is written \xHH.
#include "act.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

// In place; returns the number of bytes.
static size_t unescape(char *word)
{
    char *to = word;
    for (const char *from = word; *from; to++) {
        if (from[0] == '\\' && from[1] == 'x' && hex(from[2]) >= 0 && hex(from[3]) >= 0) {
            *to = (char)(hex(from[2]) * 16 + hex(from[3]));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = 0;
    return (size_t)(to - word);
}

void say_bytes(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x21 || c > 0x7e || c == '\\') printf("\\x%02x", c);
        else putchar(c);
    }
}

static bool take_identity(char **argv, int *index)
{
    uid_t uid = (uid_t)strtoul(argv[1], NULL, 10), ruid = uid;
    gid_t gid = (gid_t)strtoul(argv[2], NULL, 10), rgid = gid;
    gid_t groups[256];
    size_t count = 0;
    if (strcmp(argv[3], "-") != 0)
        for (char *word = strtok(argv[3], ","); word && count < 256; word = strtok(NULL, ","))
            groups[count++] = (gid_t)strtoul(word, NULL, 10);
    *index = 4;
    if (argv[4] && strcmp(argv[4], "--") != 0) {
        if (!argv[5]) return false;
        ruid = (uid_t)strtoul(argv[4], NULL, 10);
        rgid = (gid_t)strtoul(argv[5], NULL, 10);
        *index = 6;
    }
    if (setgroups(count, groups) || setresgid(rgid, gid, gid) || setresuid(ruid, uid, uid)) {
        perror("aclfs-act: cannot take on the identity");
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int index = 0;
    if (argc < 4 || !take_identity(argv, &index)) {
        fprintf(stderr, "usage: aclfs-act UID GID GROUPS [RUID RGID] [-- COMMAND…]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (argv[index]) {
        execvp(argv[index + 1], argv + index + 1);
        perror(argv[index + 1]);
        return errno == EACCES ? 126 : 127;
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        if (line[length - 1] == '\n') line[length - 1] = 0;
        struct words words = {0};
        char *rest = line;
        for (char *word; (word = strsep(&rest, "\t")) && words.count < MAX_WORDS; words.count++) {
            words.at[words.count] = word;
            words.length[words.count] = unescape(word);
        }
        act(&words);
        putchar('\n');
        fflush(stdout);
    }
    free(line);
    return 0;
}
