// Tries to get out of `aclfs sandbox run`: one way per call.
//
//     aclfs-escape WAY SHARE BACKING SCRATCH OUTSIDER HANDLE
//
// SHARE/secret and BACKING/secret hold `treasure`, which the sandbox hides; SCRATCH is a directory of the caller's on the
// backing directory's file system, OUTSIDER a process outside, HANDLE a file handle of BACKING/secret in hex. Prints
// `kept`, or what was reached.
//
//     aclfs-escape handle FILE          prints a file's handle in hex
//     aclfs-escape with-key COMMAND…    runs a command with a key in a new session keyring
//     aclfs-escape on-terminal COMMAND… runs a command on a new terminal, which is nobody's controlling one; prints what it writes
//     aclfs-escape without-filters COMMAND… runs a command as on a kernel without seccomp filters
//     aclfs-escape ways                 prints all ways
//     aclfs-escape pose SOCKET NOTES    listens as a daemon would and answers yes; notes what it was sent, after the number
//                                       of descriptors that came along
//     aclfs-escape unserved MOUNTPOINT OPTIONS   mounts through fusermount3 and answers nothing, for five minutes at most
//     aclfs-escape snapshot SUBVOLUME DIRECTORY NAME   makes a snapshot on btrfs by the older of the two requests
//
// Apart from these, with what it takes in the place of HANDLE: `open-namespace`, with the handle of a mount namespace, and
// `attach-memory`, with the number of a shared memory segment.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// NS_MNT_GET_NEXT and NS_MNT_GET_PREV, which older headers do not have.
struct namespace_info {
    uint32_t size, mounts;
    uint64_t id;
};
#define MOUNT_NAMESPACE_AFTER _IOR(NSIO, 11, struct namespace_info)
#define MOUNT_NAMESPACE_BEFORE _IOR(NSIO, 12, struct namespace_info)

static const char *share, *backing, *scratch, *handle;
static pid_t outsider;
static bool escaped;

static void found(const char *what, const char *where)
{
    printf("%s %s\n", what, where);
    escaped = true;
}

static void look_at(int fd, const char *where)
{
    char text[16] = "";
    if (fd < 0) return;
    if (read(fd, text, sizeof text - 1) > 0 && strncmp(text, "treasure", 8) == 0) found("reached", where);
    close(fd);
}

static void look(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/secret", directory);
    look_at(open(path, O_RDONLY), path);
    snprintf(path, sizeof path, "%s/planted", directory);
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    if (fd >= 0) found("wrote", path);
    close(fd);
}

static void look_everywhere(void)
{
    look(share);
    look(backing);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0) {}
    close(fd);
}

// A user namespace with all capabilities in it, and a mount namespace.
static void own_namespaces(int more)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    // What is tried next may still help where there are no mount namespaces.
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | more) && unshare(CLONE_NEWUSER | more)) {
        fprintf(stderr, "unshare: %s\n", strerror(errno));
        exit(3);
    }
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", uid);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", gid);
    write_file("/proc/self/gid_map", map);
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static const char *parent(const char *path)
{
    char *copy = strdup(path);
    *strrchr(copy, '/') = 0;
    return *copy ? copy : "/";
}

static const char *below(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? "" : path;
}

static const char *last(const char *path) { return strrchr(path, '/') + 1; }

static const char *place(void)
{
    const char *path = below(scratch, "at");
    mkdir(path, 0777);
    return path;
}

// MARK: The ways

static void plain(void) { look_everywhere(); }

static void relative(void)
{
    look(".");
    look_at(open("../secret", O_RDONLY), "..");
    look_at(open("../../secret", O_RDONLY), "../..");
}

static void unmount(void)
{
    const char *const paths[] = { share, backing, "/proc", "/" };
    const int flags[] = { 0, MNT_DETACH, MNT_FORCE, MNT_EXPIRE };
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) umount2(paths[i], flags[j]);
    look_everywhere();
}

static void unmount_in_namespaces(void)
{
    own_namespaces(0);
    unmount();
}

static void bind_parents(void)
{
    own_namespaces(0);
    const char *at = place();
    const char *const paths[] = { share, backing };
    for (size_t i = 0; i < 2; i++)
        for (const char *up = parent(paths[i]); up[1]; up = parent(up)) {
            mount(up, at, NULL, MS_BIND, NULL);
            look(below(at, paths[i] + strlen(up) + 1));
            umount2(at, MNT_DETACH);
        }
    mount("/", at, NULL, MS_BIND, NULL);
    look(below(at, share + 1));
    look(below(at, backing + 1));
}

static void bind_trees(void)
{
    own_namespaces(0);
    const char *at = place();
    mount("/", at, NULL, MS_BIND | MS_REC, NULL);
    const char *const paths[] = { below(at, share + 1), below(at, backing + 1) };
    for (size_t i = 0; i < 2; i++) {
        umount2(paths[i], MNT_DETACH);
        look(paths[i]);
    }
}

static void clone_parents(void)
{
    own_namespaces(0);
    const char *const paths[] = { share, backing };
    for (size_t i = 0; i < 2; i++) {
        int tree = (int)syscall(SYS_open_tree, AT_FDCWD, parent(paths[i]), OPEN_TREE_CLONE);
        if (tree < 0) continue;
        look_at(openat(tree, below(last(paths[i]), "secret"), O_RDONLY), "a clone");
    }
}

static void move_away(void)
{
    own_namespaces(0);
    const char *at = place();
    mount(share, at, NULL, MS_MOVE, NULL);
    mount(backing, at, NULL, MS_MOVE, NULL);
    int from = open(share, O_PATH), to = open(at, O_PATH);
    syscall(SYS_move_mount, from, "", to, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
    // Beneath the topmost mount.
    syscall(SYS_move_mount, open("/proc", O_PATH), "", from, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | 0x200);
    look_everywhere();
}

static void overlay(void)
{
    own_namespaces(0);
    const char *at = place();
    const char *const paths[] = { share, backing };
    for (size_t i = 0; i < 2; i++) {
        char options[8192];
        snprintf(options, sizeof options, "lowerdir=%s:%s", parent(paths[i]), scratch);
        if (mount("overlay", at, "overlay", 0, options) == 0) look(below(at, last(paths[i])));
        umount2(at, MNT_DETACH);
        snprintf(options, sizeof options, "lowerdir=%s:%s", paths[i], scratch);
        if (mount("overlay", at, "overlay", 0, options) == 0) look(at);
        umount2(at, MNT_DETACH);
    }
}

// A directory above the backing directory comes to lie below a bind mount, where nothing covers what is in it.
static void rename_ancestors(void)
{
    own_namespaces(0);
    const char *inner = below(scratch, "inner"), *at = place();
    mkdir(inner, 0777);
    mount(inner, at, NULL, MS_BIND, NULL);
    for (const char *up = backing; up[1]; up = parent(up)) {
        const char *new = below(inner, "moved");
        if (rename(up, new)) continue;
        look(below(below(at, "moved"), backing + strlen(up)));
        rename(new, up);
    }
}

static void exchange_ancestors(void)
{
    own_namespaces(0);
    const char *inner = below(scratch, "inner"), *at = place();
    mkdir(inner, 0777);
    const char *new = below(inner, "moved");
    mkdir(new, 0777);
    mount(inner, at, NULL, MS_BIND, NULL);
    for (const char *up = backing; up[1]; up = parent(up)) {
        if (renameat2(AT_FDCWD, up, AT_FDCWD, new, RENAME_EXCHANGE)) continue;
        look(below(below(at, "moved"), backing + strlen(up)));
        renameat2(AT_FDCWD, up, AT_FDCWD, new, RENAME_EXCHANGE);
    }
}

static void pivot(void)
{
    own_namespaces(0);
    const char *at = place();
    if (mount("/", at, NULL, MS_BIND | MS_REC, NULL) == 0 && chdir(at) == 0 && syscall(SYS_pivot_root, ".", ".") == 0) {
        umount2(".", MNT_DETACH);
        unmount();
    }
    look_everywhere();
}

// Covers and mount points hold names only in namespaces that they are attached in. A tree that is attached nowhere any more is
// reached by descriptors from before.
static void detach_above(const char *path, const char *up)
{
    const char *name = last(up), *rest = path + strlen(up), *at = place();
    int holder = open(parent(up), O_PATH | O_DIRECTORY);
    mkdirat(holder, "free", 0700);
    int room = openat(holder, "free", O_PATH | O_DIRECTORY);
    int clone = (int)syscall(SYS_open_tree, room, "", AT_EMPTY_PATH | OPEN_TREE_CLONE);
    if (clone < 0 || mount("tmpfs", at, "tmpfs", 0, NULL) || chdir(at) || mkdir("old", 0700) || mkdir("free", 0700)
        || syscall(SYS_move_mount, clone, "", AT_FDCWD, "free", MOVE_MOUNT_F_EMPTY_PATH)
        || syscall(SYS_pivot_root, ".", "old") || chdir("/") || umount2("/old", MNT_DETACH))
        goto out;
    if (*rest == 0 && unlinkat(holder, name, AT_REMOVEDIR) == 0) {
        mkdirat(holder, name, 0777);
        found("removed", path);
    }
    if (renameat(holder, name, room, name) == 0) {
        look(below(below("/free", name), rest));
        renameat(room, name, holder, name);
    }
out:
    unlinkat(holder, "free", AT_REMOVEDIR);
}

static void detach(void)
{
    const char *const paths[] = { share, backing };
    for (size_t i = 0; i < 2; i++)
        for (const char *up = paths[i]; up[1]; up = parent(up)) {
            if (fork() == 0) {
                own_namespaces(0);
                detach_above(paths[i], up);
                fflush(stdout);
                _exit(escaped);
            }
            int status = 0;
            wait(&status);
            if (status) escaped = true;
        }
}

static void change_root(void)
{
    own_namespaces(0);
    int top = open("/", O_PATH | O_DIRECTORY);
    if (chroot(scratch) == 0 && fchdir(top) == 0) {
        for (int i = 0; i < 64; i++)
            if (chdir("..")) break;
        if (chroot(".")) {}
    }
    look_everywhere();
}

static void processes(void)
{
    char path[4096];
    const pid_t pids[] = { 1, outsider, getppid(), outsider + 1 };
    const char *const ways[] = { "root", "cwd", "fd/0", "fd/3", "fd/9" };
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 5; j++) {
            snprintf(path, sizeof path, "/proc/%d/%s%s", pids[i], ways[j], j ? "" : share);
            look(path);
            snprintf(path, sizeof path, "/proc/%d/%s%s", pids[i], ways[j], j ? "" : backing);
            look(path);
        }
}

static void enter_namespace(int fd)
{
    if (fd < 0) return;
    pid_t child = fork();
    if (child == 0) {
        if (setns(fd, 0) == 0) {
            look_everywhere();
            // Only a child is in a process namespace that was entered.
            if (fork() == 0) {
                processes();
                exit(escaped);
            }
        }
        int status;
        while (wait(&status) > 0) escaped |= status != 0;
        exit(escaped);
    }
    int status;
    waitpid(child, &status, 0);
    if (status) escaped = true;
    close(fd);
}

static void namespaces(void)
{
    char path[64];
    const pid_t pids[] = { 1, outsider };
    const char *const kinds[] = { "user", "mnt", "pid", "pid_for_children" };
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 2; i++)
            for (size_t j = 0; j < 4; j++) {
                snprintf(path, sizeof path, "/proc/%d/ns/%s", pids[i], kinds[j]);
                enter_namespace(open(path, O_RDONLY));
            }
        for (size_t j = 0; j < 4; j++) {
            snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[j]);
            int own = open(path, O_RDONLY);
            enter_namespace(ioctl(own, NS_GET_USERNS));
            enter_namespace(ioctl(own, NS_GET_PARENT));
            // The mount namespaces before and after this one.
            struct namespace_info info[1] = { { .size = sizeof *info } };
            enter_namespace(ioctl(own, MOUNT_NAMESPACE_AFTER, info));
            enter_namespace(ioctl(own, MOUNT_NAMESPACE_BEFORE, info));
            close(own);
        }
        if (!round) own_namespaces(CLONE_NEWPID);
    }
    if (fork() == 0) {
        mount("proc", "/proc", "proc", 0, NULL);
        processes();
        exit(escaped);
    }
    int status = 0;
    wait(&status);
    if (status) escaped = true;
}

static void trace(void)
{
    if (ptrace(PTRACE_SEIZE, outsider, NULL, NULL) == 0) found("traced", "a process outside");
    if (kill(outsider, 0) == 0) found("signalled", "a process outside");
    int process = (int)syscall(SYS_pidfd_open, outsider, 0);
    if (process >= 0) {
        found("opened", "a process outside");
        look_at((int)syscall(SYS_pidfd_getfd, process, 9, 0), "a descriptor outside");
    }
    if (ptrace(PTRACE_SEIZE, 1, NULL, NULL) == 0) found("traced", "the sandbox's first process");
}

struct handle {
    struct file_handle head;
    unsigned char room[128];
};

static struct handle given_handle(void)
{
    struct handle file = { 0 };
    unsigned type, byte;
    int used;
    const char *hex = handle;
    if (sscanf(hex, "%8x%n", &type, &used) != 1) exit(3);
    hex += used;
    file.head.handle_type = (int)type;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) file.head.f_handle[file.head.handle_bytes++] = (unsigned char)byte;
    return file;
}

static void open_handle(void)
{
    struct handle file = given_handle();
    for (int round = 0; round < 2; round++) {
        const char *const tops[] = { scratch, "/", share, backing, parent(backing) };
        for (size_t i = 0; i < 5; i++) {
            int top = open(tops[i], O_RDONLY | O_DIRECTORY);
            look_at(open_by_handle_at(top, &file.head, O_RDONLY), "a handle");
            close(top);
        }
        if (!round) own_namespaces(0);
    }
}

static void open_namespace(void)
{
    struct handle file = given_handle();
    // FD_NSFS_ROOT, since Linux 6.18.
    const int tops[] = { -10003, open("/proc/self/ns/mnt", O_RDONLY) };
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 2; i++) {
            int namespace = open_by_handle_at(tops[i], &file.head, O_RDONLY);
            if (namespace >= 0) found("opened", "a namespace outside");
            enter_namespace(namespace);
        }
        if (!round) own_namespaces(0);
    }
}

static void attach_memory(void)
{
    for (int round = 0; round < 2; round++) {
        if (shmat(atoi(handle), NULL, 0) != (void *)-1) found("attached", "memory from outside");
        if (!round) own_namespaces(0);
    }
}

static void keys(void)
{
    const int rings[] = { KEY_SPEC_THREAD_KEYRING, KEY_SPEC_PROCESS_KEYRING, KEY_SPEC_SESSION_KEYRING, KEY_SPEC_USER_KEYRING,
                          KEY_SPEC_USER_SESSION_KEYRING };
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++)
        if (syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i], "user", "aclfs-escape", 0) >= 0) found("found", "a key");
}

// By the numbers that calls have for programs of other kinds, which the kernel may take too.
static void type_as_others(int fd)
{
#ifdef __x86_64__
    // x32, and what older kernels took for it. Only the filter refuses numbers that a kernel does not know.
    const long numbers[] = { 0x40000000 | 514, 0x40000000 | SYS_ioctl, 514 };
    for (size_t i = 0; i < 3; i++)
        if (syscall(numbers[i], fd, TIOCSTI, "x") == 0 || errno != EPERM) found("asked", "by a call of x32");
    fflush(stdout);
    if (fork() == 0) {
        // Programs of 32 bits. Where the kernel runs none, this is the end of the process.
        char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        long result = 54;
        *low = 'x';
        __asm__ volatile("int $0x80" : "+a"(result) : "b"(fd), "c"(TIOCSTI), "d"(low) : "memory", "r8", "r9", "r10", "r11");
        if (result == 0) found("typed", "by a call of i386");
        fflush(stdout);
        _exit(escaped);
    }
    int status = 0;
    wait(&status);
    if (WIFEXITED(status) && WEXITSTATUS(status)) escaped = true;
#else
    (void)fd;
#endif
}

// Into the terminal that the caller sits at.
static void type_here(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (ioctl(fd, TIOCSTI, "x") == 0) found("typed", "into the terminal");
        // The kernel takes the lower half of the request.
        if (syscall(SYS_ioctl, fd, TIOCSTI | 1ul << 32, "x") == 0) found("typed", "by a longer request");
        // Of a console, where another of these pastes. Only the filter refuses what a terminal does not know.
        char shift_state = 6;
        if (ioctl(fd, TIOCLINUX, &shift_state) == 0 || errno != EPERM) found("asked", "the console");
        type_as_others(fd);
    }
    int terminal = open("/dev/tty", O_RDWR);
    if (terminal >= 0 && ioctl(terminal, TIOCSTI, "x") == 0) found("typed", "into /dev/tty");
}

static void type(void)
{
    type_here();
    fflush(stdout);
    if (fork() == 0) {
        // It might be made the terminal of a new session.
        setsid();
        for (int fd = 0; fd < 3; fd++) ioctl(fd, TIOCSCTTY, 1);
        type_here();
        exit(escaped);
    }
    int status = 0;
    wait(&status);
    if (status) escaped = true;
}

static void descriptors(void)
{
    for (int fd = 3; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) found("inherited", "a descriptor");
    for (int fd = 0; fd < 3; fd++) {
        look_at(openat(fd, "secret", O_RDONLY), "a standard descriptor");
        look_at(openat(fd, "../secret", O_RDONLY), "a standard descriptor");
    }
}

static void disks_in(const char *directory)
{
    DIR *devices = opendir(directory);
    for (struct dirent *entry; devices && (entry = readdir(devices));) {
        struct stat status;
        if (fstatat(dirfd(devices), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISBLK(status.st_mode)) continue;
        if (openat(dirfd(devices), entry->d_name, O_RDONLY) >= 0) found("opened", below(directory, entry->d_name));
    }
}

static void disks(void)
{
    disks_in("/dev");
    // As a changed root has them.
    disks_in(below(scratch, "dev"));
    struct stat status;
    stat("/", &status);
    const char *node = below(scratch, "disk");
    if (mknod(node, S_IFBLK | 0600, status.st_dev) == 0 && open(node, O_RDONLY) >= 0) found("opened", node);
}

static void sockets(void)
{
    const char *directories[] = { "/run/aclfs", "/var/run/aclfs", below(getenv("XDG_RUNTIME_DIR") ?: "/nonexistent", "aclfs"), "" };
    char own[64];
    snprintf(own, sizeof own, "/tmp/aclfs-%u", geteuid());
    directories[3] = own;
    for (size_t i = 0; i < 4; i++) {
        DIR *directory = opendir(directories[i]);
        for (struct dirent *entry; directory && (entry = readdir(directory));) {
            if (entry->d_name[0] == '.') continue;
            found("saw", below(directories[i], entry->d_name));
        }
    }
}

static void privileges(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "Cap", 3) == 0 && strspn(strchr(line, '\t') + 1, "0") != 16) found("has", line);
        if (strncmp(line, "NoNewPrivs:\t0", 13) == 0) found("has", "new privileges");
    }
    if (!status) found("lacks", "/proc");
    // A program with set-id bits would take the view away.
    if (system("fusermount3 -u -z \"$SHARE\" >/dev/null 2>&1; umount -l \"$SHARE\" >/dev/null 2>&1") == 0) found("ran", "umount");
    look_everywhere();
}

static void remount(void)
{
    for (int round = 0; round < 2; round++) {
        mount(NULL, share, NULL, MS_REMOUNT | MS_BIND, NULL);
        mount(NULL, share, NULL, MS_REMOUNT, NULL);
        mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL);
        if (!round) own_namespaces(0);
    }
    look_everywhere();
}

static const struct way {
    const char *name;
    void (*try)(void);
} ways[] = {
    { "plain", plain }, { "relative", relative }, { "unmount", unmount },
    { "unmount-in-namespaces", unmount_in_namespaces }, { "bind-parents", bind_parents }, { "bind-trees", bind_trees },
    { "clone-parents", clone_parents }, { "move-away", move_away }, { "overlay", overlay },
    { "rename-ancestors", rename_ancestors }, { "exchange-ancestors", exchange_ancestors }, { "pivot", pivot }, { "detach", detach },
    { "change-root", change_root }, { "processes", processes }, { "namespaces", namespaces }, { "trace", trace },
    { "open-handle", open_handle }, { "descriptors", descriptors }, { "disks", disks }, { "sockets", sockets },
    { "privileges", privileges }, { "remount", remount }, { "keys", keys }, { "type", type },
}, with_more[] = {
    { "open-namespace", open_namespace }, { "attach-memory", attach_memory },
};

static int print_handle(const char *path)
{
    struct handle file = { .head.handle_bytes = 128 };
    int mount_id;
    if (name_to_handle_at(AT_FDCWD, path, &file.head, &mount_id, AT_SYMLINK_FOLLOW)) return 1;
    printf("%08x", (unsigned)file.head.handle_type);
    for (unsigned i = 0; i < file.head.handle_bytes; i++) printf("%02x", file.head.f_handle[i]);
    printf("\n");
    return 0;
}

static int with_key(char **command)
{
    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    syscall(SYS_add_key, "user", "aclfs-escape", "treasure", 8, KEY_SPEC_SESSION_KEYRING);
    execvp(command[0], command);
    return 3;
}

static int on_terminal(char **command)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) || unlockpt(master)) return 3;
    pid_t child = fork();
    if (child == 0) {
        int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
        for (int fd = 0; fd < 3; fd++) dup2(terminal, fd);
        if (terminal > 2) close(terminal);
        execvp(command[0], command);
        _exit(3);
    }
    char text[4096];
    // Ends with an error once nobody has the other end open.
    for (ssize_t length; (length = read(master, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < length; i++)
            if (text[i] != '\r') putchar(text[i]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static int without_filters(char **command)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = sizeof program / sizeof *program, .filter = program };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) return 3;
    execvp(command[0], command);
    return 3;
}

static int pose(const char *name, const char *path)
{
    static const char yes[] = "{\"v\":1,\"ok\":true,\"result\":{\"serves\":true,\"shows\":false}}";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    FILE *notes = fopen(path, "a");
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    // Nobody without privileges is to see in which namespaces it is.
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGCHLD, SIG_IGN);
    // There under its name once it listens.
    snprintf(address.sun_path, sizeof address.sun_path, "%s.new", name);
    if (!notes || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8)) return 3;
    if (rename(address.sun_path, name)) return 3;
    for (;;) {
        int client = accept(listener, NULL, NULL);
        // Several may ask at a time.
        if (client < 0 || fork()) {
            close(client);
            continue;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char text[65536], room[CMSG_SPACE(4 * sizeof(int))];
        struct iovec bytes = { text, sizeof text - 1 };
        for (;;) {
            struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
            ssize_t length = recvmsg(client, &message, 0);
            if (length <= 0) break;
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            text[length] = 0;
            fprintf(notes, "%d %.60s\n", header ? (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0, text);
            fflush(notes);
            send(client, yes, sizeof yes - 1, MSG_NOSIGNAL);
        }
        exit(0);
    }
}

static int try_way(const struct way *way)
{
    way->try();
    if (!escaped) printf("kept\n");
    return escaped;
}

static int unserved(const char *mountpoint, char *options)
{
    char line[16];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 3;
    snprintf(line, sizeof line, "%d", ends[0]);
    if (fork() == 0) {
        close(ends[1]);
        setenv("_FUSE_COMMFD", line, 1);
        execlp("fusermount3", "fusermount3", "-o", options, "--", mountpoint, NULL);
        _exit(3);
    }
    // The device comes through the socket, and stays open there.
    alarm(300);
    pause();
    return 3;
}

static int snapshot(const char *subvolume, const char *directory, const char *name)
{
    struct btrfs_ioctl_vol_args words = { .fd = open(subvolume, O_RDONLY | O_DIRECTORY) };
    snprintf(words.name, sizeof words.name, "%s", name);
    return ioctl(open(directory, O_RDONLY | O_DIRECTORY), BTRFS_IOC_SNAP_CREATE, &words) != 0;
}

int main(int count, char **word)
{
    if (count > 2 && strcmp(word[1], "with-key") == 0) return with_key(word + 2);
    if (count > 2 && strcmp(word[1], "on-terminal") == 0) return on_terminal(word + 2);
    if (count > 2 && strcmp(word[1], "without-filters") == 0) return without_filters(word + 2);
    if (count == 3 && strcmp(word[1], "handle") == 0) return print_handle(word[2]);
    if (count == 4 && strcmp(word[1], "pose") == 0) return pose(word[2], word[3]);
    if (count == 4 && strcmp(word[1], "unserved") == 0) return unserved(word[2], word[3]);
    if (count == 5 && strcmp(word[1], "snapshot") == 0) return snapshot(word[2], word[3], word[4]);
    if (count == 2 && strcmp(word[1], "ways") == 0) {
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) printf("%s\n", ways[i].name);
        return 0;
    }
    if (count != 7) return 3;
    share = word[2], backing = word[3], scratch = word[4], outsider = atoi(word[5]), handle = word[6];
    setenv("SHARE", share, 1);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, word[1]) == 0) return try_way(&ways[i]);
    for (size_t i = 0; i < sizeof with_more / sizeof *with_more; i++)
        if (strcmp(with_more[i].name, word[1]) == 0) return try_way(&with_more[i]);
    return 3;
}
