// The system calls that a script can name.
#include "race.h"
#include <dirent.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>

void nap(long microseconds)
{
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
    if (microseconds) nanosleep(&time, NULL);
}

static bool close_new(int descriptor)
{
    if (descriptor < 0) return false;
    close(descriptor);
    return true;
}

static bool list_from(int directory, bool with_attributes)
{
    static char buffer[8192] __attribute__((aligned(8)));
    ssize_t length;
    while ((length = getdents64(directory, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0; with_attributes && at < length; at += ((struct dirent64 *)(buffer + at))->d_reclen) {
            struct stat st;
            // What is not found any more is what `ls -l` would skip.
            (void)fstatat(directory, ((struct dirent64 *)(buffer + at))->d_name, &st, AT_SYMLINK_NOFOLLOW);
        }
    return length == 0;
}

static bool list(const char *path, bool with_attributes)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY);
    if (directory < 0) return false;
    bool succeeded = list_from(directory, with_attributes);
    int failure = errno;
    close(directory);
    errno = failure;
    return succeeded;
}

// A directory that is opened once and read again: nothing is sent but the reading.
static bool list_again(const char *path)
{
    static int directory = -1;
    if (directory < 0) directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return directory >= 0 && lseek(directory, 0, SEEK_SET) == 0 && list_from(directory, false);
}

// chattr(1): `i` or `a`, set or cleared.
static bool chattr(const char *path, const char *change)
{
    int descriptor = open(path, O_RDONLY | O_NONBLOCK), bits = 0;
    if (descriptor < 0) return false;
    int bit = change[1] == 'i' ? FS_IMMUTABLE_FL : FS_APPEND_FL;
    bool succeeded = ioctl(descriptor, FS_IOC_GETFLAGS, &bits) == 0;
    bits = change[0] == '+' ? bits | bit : bits & ~bit;
    succeeded = succeeded && ioctl(descriptor, FS_IOC_SETFLAGS, &bits) == 0;
    int failure = errno;
    close(descriptor);
    errno = failure;
    return succeeded;
}

// Sends a message of docs/reference/control.md to the daemon of a mount. The count of bytes of the answer; -1 without one.
static ssize_t control_answer(const struct sockaddr_un *name, const char *message, char *text, size_t room)
{
    int control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    size_t length = strlen(message);
    bool asked = connect(control, (const struct sockaddr *)name, sizeof *name) == 0
        && send(control, message, length, 0) == (ssize_t)length;
    ssize_t count = asked ? recv(control, text, room - 1, 0) : -1;
    int failure = errno;
    close(control);
    errno = failure;
    if (count >= 0) text[count] = 0;
    return count;
}

// Where processors are scarce the daemon notices late that earlier clients have gone, and says: try again.
static bool control_message(const char *mountpoint, const char *message)
{
    struct stat st;
    if (stat(mountpoint, &st)) return false;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "/run/aclfs/%u-%u.sock", major(st.st_dev), minor(st.st_dev));
    char text[4096];
    for (int attempt = 0; attempt < 200; attempt++) {
        if (control_answer(&name, message, text, sizeof text) < 0) {
            if (errno != ECONNRESET && errno != EPIPE) return false;
        } else if (!strstr(text, "too many clients")) {
            if (strstr(text, "\"ok\":true")) return true;
            dprintf(2, "aclfs-race: %s: %s\n", message, text);
            break;
        }
        usleep(10000);
    }
    errno = EPROTO;
    return false;
}

// As `aclfs mount -o remount` asks.
static bool remount(const char *mountpoint, const char *options)
{
    char text[4096];
    snprintf(text, sizeof text, "{\"v\":1,\"command\":\"remount\",\"options\":\"%s\"}", options);
    return control_message(mountpoint, text);
}

static bool regroup(char *list)
{
    gid_t groups[MAX_GROUPS];
    size_t count = 0;
    for (char *next = list; *next && count < MAX_GROUPS; next += *next == ',')
        groups[count++] = (gid_t)strtoul(next, &next, 10);
    // The C library would change a sanitizer's thread as well, and abort where that one may not.
    return syscall(SYS_setgroups, count, groups) == 0;
}

// Holds one processor for a random while before everybody else: whoever was about to use an answer there is late.
static bool preempt(long least, long most)
{
    static unsigned seed;
    if (!seed) {
        struct sched_param first = {.sched_priority = 10};
        seed = (unsigned)getpid();
        if (sched_setscheduler(0, SCHED_FIFO, &first)) return false;
    }
    stay_on(0, rand_r(&seed) % (int)sysconf(_SC_NPROCESSORS_ONLN));
    struct timespec start, now;
    long wanted = least + rand_r(&seed) % (most - least + 1);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < wanted);
    return true;
}

static const char *at(const struct call *call, int index) { return index < call->words ? call->word[index] : ""; }
static long number(const struct call *call, int index) { return strtol(at(call, index), NULL, 0); }

// A path with `@` replaced by the number of the attempt.
static const char *path(const struct call *call, int index, long number, char *room)
{
    const char *text = at(call, index), *mark = strchr(text, '@');
    if (!mark) return text;
    snprintf(room, 512, "%.*s%ld%s", (int)(mark - text), text, number, mark + 1);
    return room;
}

// One file of a directory by the attribute with which commands change the lists of many; again while another request is at work on it,
// and while the daemon has not read the mount table after a change.
static bool change_list(const char *directory, const char *change, const char *name)
{
    static unsigned char count;
    char value[10 + 256] = {1, (char)atoi(change), (char)++count};
    unsigned char answer[16];
    size_t length = strnlen(name, 255);
    memcpy(value + 10, name, length);
    for (int attempt = 0; attempt < 100000; attempt++) {
        if (lsetxattr(directory, "system.aclfs.lists", value, 10 + length + 1, 0)) {
            if (errno != EOPNOTSUPP) return false;
            usleep(100);
            continue;
        }
        if (lgetxattr(directory, "system.aclfs.lists", answer, sizeof answer) != 9 || answer[0] != count) break;
        if (answer[8] != 2) return true;
        usleep(100);
    }
    errno = EPROTO;
    return false;
}

// Changes; `known` is cleared when the word is none of them.
static bool change(const struct call *c, const char *word, const char *first, const char *second, bool *known)
{
    if (strcmp(word, "chmod") == 0) return chmod(first, (mode_t)strtol(second, NULL, 8)) == 0;
    if (strcmp(word, "chown") == 0) return lchown(first, (uid_t)number(c, 2), (gid_t)number(c, 3)) == 0;
    if (strcmp(word, "setxattr") == 0)
        return lsetxattr(first, second, at(c, 3), strlen(at(c, 3)), 0) == 0;
    if (strcmp(word, "removexattr") == 0) return lremovexattr(first, second) == 0;
    if (strcmp(word, "lists") == 0) return change_list(first, second, at(c, 3));
    if (strcmp(word, "chattr") == 0) return chattr(first, second);
    if (strcmp(word, "rename") == 0) return rename(first, second) == 0;
    if (strcmp(word, "exchange") == 0) return renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE) == 0;
    if (strcmp(word, "link") == 0) return link(first, second) == 0;
    if (strcmp(word, "unlink") == 0) return unlink(first) == 0;
    if (strcmp(word, "mkdir") == 0) return mkdir(first, (mode_t)strtol(second, NULL, 8)) == 0;
    if (strcmp(word, "rmdir") == 0) return rmdir(first) == 0;
    if (strcmp(word, "create") == 0) return close_new(open(first, O_CREAT | O_WRONLY, 0666));
    if (strcmp(word, "utimes") == 0) return utimensat(AT_FDCWD, first, NULL, 0) == 0;
    if (strcmp(word, "remount") == 0) return remount(first, second);
    if (strcmp(word, "control") == 0) return control_message(first, c->word[2]);
    if (strcmp(word, "regroup") == 0) return regroup(c->word[1]);
    *known = false;
    return false;
}

int perform(const struct call *c, long round)
{
    const char *word = c->word[0];
    char room[2][512];
    const char *first = path(c, 1, round, room[0]), *second = path(c, 2, round, room[1]);
    struct stat st;
    bool succeeded, known = true;
    if (strcmp(word, "stat") == 0) succeeded = lstat(first, &st) == 0;
    else if (strcmp(word, "read") == 0) succeeded = close_new(open(first, O_RDONLY));
    else if (strcmp(word, "write") == 0) succeeded = close_new(open(first, O_WRONLY));
    else if (strcmp(word, "access") == 0) succeeded = access(first, (int)number(c, 2)) == 0;
    else if (strcmp(word, "list") == 0) succeeded = list(first, false);
    else if (strcmp(word, "listall") == 0) succeeded = list(first, true);
    else if (strcmp(word, "listagain") == 0) succeeded = list_again(first);
    else if (strcmp(word, "getxattr") == 0) succeeded = lgetxattr(first, second, NULL, 0) >= 0;
    // Never takes place: what is asked for is no program. What the kernel says tells whether it might have.
    else if (strcmp(word, "exec") == 0) succeeded = execv(first, (char *[]){(char *)first, NULL}) == 0;
    else if (strcmp(word, "hold") == 0) succeeded = open(first, O_RDONLY | O_CLOEXEC) >= 0;
    else if (strcmp(word, "chdir") == 0) succeeded = chdir(first) == 0;
    else if (strcmp(word, "nap") == 0) succeeded = (nap(number(c, 1)), true);
    else if (strcmp(word, "preempt") == 0) succeeded = preempt(number(c, 1), number(c, 2));
    else {
        succeeded = change(c, word, first, second, &known);
        if (!known) give_up("unknown call: %s", word);
    }
    return succeeded ? 0 : errno;
}
