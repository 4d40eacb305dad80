// What one user can do to another: a victim measures each of its calls, alone and while sixteen processes of another user attack, in turns, so
// that whatever else the machine does concerns both alike.
#include "load.h"
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

enum { ATTACKERS = 16, CALLS = 4, MOST_SAMPLES = 8192, MOST_ROUNDS = 64, ENTRIES = 128, GROUPS = 60, DIRECTORIES = 1950 };
enum { LINKS = 60000, NAMES = 64, LIST_ROOM = 65536 };
static const char *const call_names[CALLS] = {"stat", "open", "mkdir", "getxattr"};
static const char *const list_names[] = {"system.aclfs.acl", "com.apple.acl.text", "system.nfs4_acl", "system.nfs4_acl_xdr",
    "system.nfs4_acl_smb"};
enum { FORMS = sizeof list_names / sizeof *list_names };

/// What one attacker works on. Only what its kind needs is there.
struct attacker {
    int number;
    unsigned long turn;
    const struct attack *attack;
    const char *socket_path;
    char own[64];
    int descriptor, other;
    /// Two values, which are set in turn.
    char value[2][LIST_ROOM];
    size_t length[2];
};

struct attack {
    const char *name;
    /// Before the first attacker begins, as the attacker, in its directory. May be NULL.
    void (*prepare)(void);
    /// Of each attacker. May be NULL.
    void (*begin)(struct attacker *);
    void (*act)(struct attacker *);
    /// Names one of several forms.
    int form;
};

struct shared {
    atomic_int goes;
    atomic_bool ends, measures;
    atomic_int ready;
    atomic_ulong attacks, failures;
    /// The call that the victim is in, and since when; -1 = none.
    atomic_int call;
    _Atomic double begin;
    int count[CALLS];
    float samples[CALLS][MOST_SAMPLES];
};
static struct shared *shared;

static void be(uid_t uid, int niceness)
{
    setpriority(PRIO_PROCESS, 0, niceness);
    if (setgroups(0, NULL) || setgid(uid) || setuid(uid)) give_up("becoming the user");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void failed_if(bool condition)
{
    if (condition) atomic_fetch_add_explicit(&shared->failures, 1, memory_order_relaxed);
}

// ---- what is set ----

static void put16(char *at, unsigned value) { memcpy(at, &(uint16_t){(uint16_t)value}, 2); }
static void put32(char *at, unsigned value) { memcpy(at, &value, 4); }

/// A POSIX ACL with groups of all permissions there are: the most that its translation can cost.
static size_t posix_value(char *value, unsigned first_group)
{
    char *at = value;
    put32(at, 2), at += 4;
    const struct { unsigned tag, permissions; } head[] = {{1, 7}, {4, 5}};
    for (int each = 0; each < 2; each++, at += 8) put16(at, head[each].tag), put16(at + 2, head[each].permissions), put32(at + 4, -1u);
    for (unsigned each = 0; each < GROUPS; each++, at += 8) put16(at, 8), put16(at + 2, each % 8), put32(at + 4, first_group + each);
    put16(at, 16), put16(at + 2, 7), put32(at + 4, -1u), at += 8;
    put16(at, 32), put16(at + 2, 0), put32(at + 4, -1u), at += 8;
    return (size_t)(at - value);
}

static size_t list_value(char *value, const char *words)
{
    size_t length = 0;
    for (int each = 0; each < ENTRIES; each++)
        length += (size_t)snprintf(value + length, LIST_ROOM - length, "group:#%d %s\n", 90000 + each, words);
    return length;
}

static void begin_own_file(struct attacker *attacker)
{
    snprintf(attacker->own, sizeof attacker->own, "own%d", attacker->number);
    write_file(attacker->own, 100);
}

static void begin_own_directory(struct attacker *attacker)
{
    snprintf(attacker->own, sizeof attacker->own, "dir%d", attacker->number);
    make_directory(attacker->own);
}

static void act_chmod(struct attacker *attacker) { failed_if(chmod(attacker->own, attacker->turn & 1 ? 0600 : 0644)); }
static void act_chmod_directory(struct attacker *attacker) { failed_if(chmod(attacker->own, attacker->turn & 1 ? 0700 : 0755)); }

static void begin_posix(struct attacker *attacker)
{
    begin_own_file(attacker);
    for (unsigned each = 0; each < 2; each++) attacker->length[each] = posix_value(attacker->value[each], 90000 + each);
}

static void begin_posix_of_other(struct attacker *attacker)
{
    begin_posix(attacker);
    strcpy(attacker->own, "../victim/file");
}

static void set(struct attacker *attacker, const char *name)
{
    unsigned which = attacker->turn & 1;
    failed_if(setxattr(attacker->own, name, attacker->value[which], attacker->length[which], 0));
}
static void act_posix(struct attacker *attacker) { set(attacker, "system.posix_acl_access"); }
static void act_posix_default(struct attacker *attacker) { set(attacker, "system.posix_acl_default"); }
static void begin_posix_directory(struct attacker *attacker)
{
    begin_posix(attacker);
    begin_own_directory(attacker);
}

/// The values of all other forms are those that a file with the list has.
static void begin_list(struct attacker *attacker)
{
    begin_own_file(attacker);
    const char *words[] = {"allow read,write,append,readattr,readextattr", "deny write,append,delete,chown"};
    const char *name = list_names[attacker->attack->form];
    for (int each = 0; each < 2; each++) {
        size_t length = list_value(attacker->value[each], words[each]);
        if (setxattr(attacker->own, list_names[0], attacker->value[each], length, 0)) give_up(list_names[0]);
        ssize_t read = getxattr(attacker->own, name, attacker->value[each], LIST_ROOM);
        if (read < 0) give_up(name);
        attacker->length[each] = (size_t)read;
    }
}
static void begin_list_of_other(struct attacker *attacker)
{
    begin_list(attacker);
    strcpy(attacker->own, "../victim/file");
}
static void act_list(struct attacker *attacker) { set(attacker, list_names[attacker->attack->form]); }
static void act_get_list(struct attacker *attacker)
{
    char value[LIST_ROOM];
    failed_if(getxattr(attacker->own, list_names[attacker->attack->form], value, sizeof value) < 0);
}
static void act_effective(struct attacker *attacker)
{
    char value[1024];
    failed_if(getxattr(attacker->own, "system.aclfs.effective", value, sizeof value) < 0);
}
static void act_list_names(struct attacker *attacker)
{
    char value[4096];
    failed_if(listxattr(attacker->own, value, sizeof value) < 0);
}

/// system.aclfs.lists: entries of 64 files become explicit, or are inherited again.
static void prepare_lists(void)
{
    char value[LIST_ROOM];
    make_directory("lists");
    size_t length = list_value(value, "allow read,write,append,file_inherit");
    if (setxattr("lists", list_names[0], value, length, 0)) give_up("lists");
    for (int each = 0; each < NAMES * ATTACKERS; each++) {
        char name[NAME_ROOM];
        snprintf(name, sizeof name, "lists/f%04d", each);
        write_file(name, 0);
    }
}
static void begin_lists(struct attacker *attacker)
{
    strcpy(attacker->own, "lists");
    for (int which = 0; which < 2; which++) {
        char *at = attacker->value[which];
        // Version 1; change 2 makes entries explicit, 1 inherits; the number of the answer.
        *at++ = 1, *at++ = which ? 2 : 1;
        memset(at, 0, 8), at += 8;
        for (int each = 0; each < NAMES; each++) at += sprintf(at, "f%04d", attacker->number * NAMES + each) + 1;
        attacker->length[which] = (size_t)(at - attacker->value[which]);
    }
}
static void act_lists(struct attacker *attacker) { set(attacker, "system.aclfs.lists"); }

// ---- deep ----

static void go_deep(int count, bool makes)
{
    for (int each = 0; each < count; each++) {
        if (makes && mkdir("d", 0755) && errno != EEXIST) give_up("d");
        if (chdir("d")) give_up("d");
    }
}
static void prepare_deep(void)
{
    go_deep(DIRECTORIES, true);
    for (int each = 0; each < ATTACKERS; each++) {
        char name[64];
        snprintf(name, sizeof name, "own%d", each);
        write_file(name, 0);
    }
}
static void begin_deep(struct attacker *attacker)
{
    go_deep(DIRECTORIES, false);
    begin_own_file(attacker);
    attacker->descriptor = open(attacker->own, O_RDONLY);
    if (attacker->descriptor < 0) give_up(attacker->own);
}
static void act_deep_set(struct attacker *attacker)
{
    long flags = attacker->turn & 1 ? FS_NODUMP_FL : 0;
    failed_if(ioctl(attacker->descriptor, FS_IOC_SETFLAGS, &flags));
}
static void act_deep_set_extended(struct attacker *attacker)
{
    struct fsxattr flags = {.fsx_xflags = attacker->turn & 1 ? FS_XFLAG_NODUMP : 0};
    failed_if(ioctl(attacker->descriptor, FS_IOC_FSSETXATTR, &flags));
}
static void act_deep_get(struct attacker *attacker)
{
    long flags;
    failed_if(ioctl(attacker->descriptor, FS_IOC_GETFLAGS, &flags));
}
static void act_deep_attribute(struct attacker *attacker)
{
    char value[256];
    failed_if(fgetxattr(attacker->descriptor, "system.aclfs.flags", value, sizeof value) < 0);
}

// ---- names ----

static void prepare_links(void)
{
    char name[NAME_ROOM];
    make_directory("links");
    write_file("links/file", 0);
    for (int each = 0; each < LINKS; each++) {
        snprintf(name, sizeof name, "links/l%05d", each);
        if (link("links/file", name)) give_up(name);
    }
}
static void prepare_files(void)
{
    char name[NAME_ROOM];
    make_directory("links");
    for (int each = 0; each < LINKS / 10; each++) {
        snprintf(name, sizeof name, "links/l%05d", each);
        write_file(name, 0);
    }
}
static void act_listing(struct attacker *attacker)
{
    static char buffer[65536];
    int directory = open("links", O_RDONLY | O_DIRECTORY);
    failed_if(directory < 0);
    while (syscall(SYS_getdents64, directory, buffer, sizeof buffer) > 0 && atomic_load(&shared->goes)) {}
    close(directory);
    (void)attacker;
}
static void act_miss(struct attacker *attacker)
{
    char name[NAME_ROOM];
    struct stat status;
    snprintf(name, sizeof name, "absent%d-%lu", attacker->number, attacker->turn);
    failed_if(!lstat(name, &status));
}
static void act_miss_open(struct attacker *attacker)
{
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "../victim/absent%d-%lu", attacker->number, attacker->turn);
    failed_if(open(name, O_RDONLY) >= 0);
}
static void act_create(struct attacker *attacker)
{
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "new%d", attacker->number);
    int file = open(name, O_WRONLY | O_CREAT, 0644);
    failed_if(file < 0);
    close(file);
    failed_if(unlink(name));
}
static void act_rename(struct attacker *attacker)
{
    char other[80];
    snprintf(other, sizeof other, "%s.other", attacker->own);
    failed_if(attacker->turn & 1 ? rename(other, attacker->own) : rename(attacker->own, other));
}
static void act_stat(struct attacker *attacker)
{
    struct statx status;
    failed_if(statx(AT_FDCWD, attacker->own, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status));
}
static void act_xattr(struct attacker *attacker)
{
    char value[1000];
    memset(value, 'a' + (char)(attacker->turn & 1), sizeof value);
    failed_if(setxattr(attacker->own, "user.note", value, sizeof value, 0));
}

// ---- what the kernel does mostly by itself ----

static void begin_locks(struct attacker *attacker)
{
    snprintf(attacker->own, sizeof attacker->own, "locked");
    attacker->descriptor = open(attacker->own, O_RDWR | O_CREAT, 0644);
    if (attacker->descriptor < 0) give_up(attacker->own);
}
static void act_locks(struct attacker *attacker)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = attacker->number, .l_len = 1};
    failed_if(fcntl(attacker->descriptor, F_SETLK, &lock) < 0);
    flock(attacker->descriptor, LOCK_EX | LOCK_NB);
    flock(attacker->descriptor, LOCK_UN);
    // Closing any descriptor of the file drops the locks, which the file system is told.
    int again = open(attacker->own, O_RDWR);
    failed_if(again < 0);
    close(again);
}
static void begin_inotify(struct attacker *attacker)
{
    begin_own_file(attacker);
    attacker->descriptor = inotify_init1(IN_NONBLOCK);
    if (attacker->descriptor < 0) give_up("inotify");
    if (inotify_add_watch(attacker->descriptor, "../victim", IN_ALL_EVENTS) < 0) give_up("../victim");
}
static void act_inotify(struct attacker *attacker)
{
    char events[4096];
    int watch = inotify_add_watch(attacker->descriptor, attacker->turn & 1 ? attacker->own : ".", IN_ALL_EVENTS);
    failed_if(watch < 0);
    int file = open(attacker->own, O_RDONLY);
    close(file);
    while (read(attacker->descriptor, events, sizeof events) > 0) {}
    inotify_rm_watch(attacker->descriptor, watch);
}

static void act_explain(struct attacker *attacker)
{
    static const char question[] = "{\"v\":1,\"command\":\"explain\",\"operation\":\"open-read\",\"path\":\"victim/file\"}";
    if (attacker->other <= 0) {
        struct sockaddr_un place = {.sun_family = AF_UNIX};
        strncpy(place.sun_path, attacker->socket_path, sizeof place.sun_path - 1);
        attacker->other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connect(attacker->other, (struct sockaddr *)&place, sizeof place)) failed_if(true);
    }
    static char answer[65536];
    if (send(attacker->other, question, sizeof question - 1, MSG_NOSIGNAL) < 0 || recv(attacker->other, answer, sizeof answer, 0) <= 0) {
        failed_if(true);
        close(attacker->other);
        attacker->other = 0;
    }
}

static const struct attack attacks[] = {
    {"stat", NULL, begin_own_file, act_stat, 0},
    {"create", NULL, begin_own_file, act_create, 0},
    {"rename", NULL, begin_own_file, act_rename, 0},
    {"xattr", NULL, begin_own_file, act_xattr, 0},
    {"chmod", NULL, begin_own_file, act_chmod, 0},
    {"chmod-dir", NULL, begin_own_directory, act_chmod_directory, 0},
    {"setfacl", NULL, begin_posix, act_posix, 0},
    {"setfacl-refused", NULL, begin_posix_of_other, act_posix, 0},
    {"setfacl-default", NULL, begin_posix_directory, act_posix_default, 0},
    {"acl", NULL, begin_list, act_list, 0},
    {"acl-refused", NULL, begin_list_of_other, act_list, 0},
    {"acl-copy", NULL, begin_list, act_list, 1},
    {"acl-nfs4", NULL, begin_list, act_list, 2},
    {"acl-xdr", NULL, begin_list, act_list, 3},
    {"acl-smb", NULL, begin_list, act_list, 4},
    {"acl-read", NULL, begin_list, act_get_list, 0},
    {"nfs4-read", NULL, begin_list, act_get_list, 2},
    {"effective", NULL, begin_list, act_effective, 0},
    {"listxattr", NULL, begin_list, act_list_names, 0},
    {"lists", prepare_lists, begin_lists, act_lists, 0},
    {"setflags-deep", prepare_deep, begin_deep, act_deep_set, 0},
    {"fssetxattr-deep", prepare_deep, begin_deep, act_deep_set_extended, 0},
    {"getflags-deep", prepare_deep, begin_deep, act_deep_get, 0},
    {"flags-deep", prepare_deep, begin_deep, act_deep_attribute, 0},
    {"listing-links", prepare_links, NULL, act_listing, 0},
    {"listing-files", prepare_files, NULL, act_listing, 0},
    {"miss", NULL, NULL, act_miss, 0},
    {"miss-open", NULL, NULL, act_miss_open, 0},
    {"locks", NULL, begin_locks, act_locks, 0},
    {"inotify", NULL, begin_inotify, act_inotify, 0},
    {"explain", NULL, NULL, act_explain, 0},
};

void list_attacks(void)
{
    for (size_t each = 0; each < sizeof attacks / sizeof *attacks; each++) puts(attacks[each].name);
}

static void wait_until_it_goes(void)
{
    while (!atomic_load(&shared->goes)) syscall(SYS_futex, &shared->goes, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static _Noreturn void attack(const struct attack *attack, int number, uid_t uid, const char *socket_path)
{
    be(uid, 0);
    static struct attacker attacker;
    attacker.number = number;
    attacker.attack = attack;
    attacker.socket_path = socket_path;
    attacker.descriptor = -1;
    if (chdir("attacker")) give_up("attacker");
    if (attack->begin) attack->begin(&attacker);
    atomic_fetch_add(&shared->ready, 1);
    for (;;) {
        wait_until_it_goes();
        attack->act(&attacker);
        attacker.turn++;
        atomic_fetch_add_explicit(&shared->attacks, 1, memory_order_relaxed);
    }
}

static void victims_calls(unsigned long turn)
{
    struct timespec pause = {.tv_nsec = 150000};
    char file[64], directory[64], value[64];
    snprintf(file, sizeof file, "file%lu", turn % 16);
    snprintf(directory, sizeof directory, "new%lu", turn);
    for (int call = 0; call < CALLS; call++) {
        nanosleep(&pause, NULL);
        struct statx status;
        int opened = -1;
        double begin = now();
        atomic_store(&shared->begin, begin);
        atomic_store(&shared->call, call);
        switch (call) {
        // What the kernel has in its caches no attacker can delay: the file system is asked.
        case 0: failed_if(statx(AT_FDCWD, file, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status)); break;
        case 1: failed_if((opened = open(file, O_RDONLY)) < 0); break;
        case 2: failed_if(mkdir(directory, 0755)); break;
        case 3: failed_if(getxattr(file, "user.note", value, sizeof value) < 0); break;
        }
        double end = now();
        atomic_store(&shared->call, -1);
        if (atomic_load(&shared->measures) && shared->count[call] < MOST_SAMPLES)
            shared->samples[call][shared->count[call]++] = (float)((end - begin) * 1e6);
        if (opened >= 0) close(opened);
        if (call == 2) rmdir(directory);
    }
}

static _Noreturn void be_victim(uid_t uid)
{
    be(uid, -15);
    if (chdir("victim")) give_up("victim");
    write_file("file", 100);
    for (int each = 0; each < 16; each++) {
        char name[64];
        snprintf(name, sizeof name, "file%d", each);
        write_file(name, 100);
        if (setxattr(name, "user.note", "note", 4, 0)) give_up("user.note");
    }
    atomic_fetch_add(&shared->ready, 1);
    for (unsigned long turn = 0;; turn++) victims_calls(turn);
}

static int compare(const void *a, const void *b)
{
    float one = *(const float *)a, other = *(const float *)b;
    return one < other ? -1 : one > other;
}

static float at(float *values, int count, double share)
{
    // Others took all the time.
    if (!count) return 0;
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[(int)((count - 1) * share)];
}

/// Lets the victim measure for a while.
static void measure_for(double seconds, float p50[CALLS], float p99[CALLS])
{
    // What began before is over then.
    usleep(150000);
    memset(shared->count, 0, sizeof shared->count);
    atomic_store(&shared->measures, true);
    usleep((useconds_t)(seconds * 1e6));
    atomic_store(&shared->measures, false);
    // A call that has not ended counts as well.
    int unfinished = atomic_load(&shared->call);
    double since = now() - atomic_load(&shared->begin);
    usleep(2000);
    if (unfinished >= 0 && since > 0.001 && shared->count[unfinished] < MOST_SAMPLES)
        shared->samples[unfinished][shared->count[unfinished]++] = (float)(since * 1e6);
    for (int call = 0; call < CALLS; call++) {
        p50[call] = at(shared->samples[call], shared->count[call], 0.5);
        p99[call] = at(shared->samples[call], shared->count[call], 0.99);
    }
}

static void wait_for_ready(int count)
{
    int status;
    while (atomic_load(&shared->ready) < count) {
        if (waitpid(-1, &status, WNOHANG) > 0) exit(1);
        usleep(1000);
    }
}

/// Prints for each call: its name, the median and the 99th percentile in microseconds, alone and attacked, each the median of all rounds; then
/// the attacks in a second and how many calls failed.
void run_attack(const char *name, const char *directory, int rounds, double seconds, uid_t attacker, uid_t victim, const char *socket_path)
{
    const struct attack *chosen = NULL;
    for (size_t each = 0; each < sizeof attacks / sizeof *attacks; each++)
        if (!strcmp(attacks[each].name, name)) chosen = attacks + each;
    if (!chosen || rounds < 1 || rounds > MOST_ROUNDS) errno = EINVAL, give_up(name);
    if (chdir(directory)) give_up(directory);
    const struct { const char *name; uid_t uid; } places[] = {{"attacker", attacker}, {"victim", victim}};
    for (int each = 0; each < 2; each++)
        if (mkdir(places[each].name, 0755) || chown(places[each].name, places[each].uid, places[each].uid)) give_up(places[each].name);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) give_up("mmap");
    setpriority(PRIO_PROCESS, 0, -15);
    if (!fork()) be_victim(victim);
    wait_for_ready(1);
    if (chosen->prepare) {
        pid_t pid = fork();
        if (!pid) {
            be(attacker, 0);
            if (chdir("attacker")) give_up("attacker");
            chosen->prepare();
            _exit(0);
        }
        int status;
        if (waitpid(pid, &status, 0) < 0 || status) exit(1);
    }
    for (int number = 0; number < ATTACKERS; number++)
        if (!fork()) attack(chosen, number, attacker, socket_path);
    wait_for_ready(1 + ATTACKERS);
    static float results[4][CALLS][MOST_ROUNDS];
    double attacked = 0;
    for (int round = 0; round < rounds; round++)
        for (int goes = 0; goes < 2; goes++) {
            float p50[CALLS], p99[CALLS];
            atomic_store(&shared->goes, goes);
            syscall(SYS_futex, &shared->goes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
            double begin = now();
            measure_for(seconds, p50, p99);
            if (goes) attacked += now() - begin;
            for (int call = 0; call < CALLS; call++)
                results[goes * 2][call][round] = p50[call], results[goes * 2 + 1][call][round] = p99[call];
        }
    atomic_store(&shared->goes, 0);
    for (int call = 0; call < CALLS; call++) {
        printf("%s", call_names[call]);
        for (int figure = 0; figure < 4; figure++) printf(" %.1f", (double)at(results[figure][call], rounds, 0.5));
        puts("");
    }
    printf("attacks %.0f %lu\n", (double)atomic_load(&shared->attacks) / attacked, atomic_load(&shared->failures));
    fflush(stdout);
    // The others end with their parent.
}
