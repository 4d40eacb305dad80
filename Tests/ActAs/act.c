#include "act.h"

static int files[MAX_FILES];
static char buffer[BUFFER] __attribute__((aligned(8)));

static void say(bool succeeded)
{
    const char *name = succeeded ? "ok" : strerrorname_np(errno);
    fputs(name ? name : "unknown", stdout);
}

static void say_value(ssize_t count)
{
    say(count >= 0);
    if (count < 0) return;
    putchar('\t');
    say_bytes(buffer, (size_t)count);
}

static const char *word(const struct words *words, int index)
{
    return index < words->count ? words->at[index] : "";
}

static long number(const struct words *words, int index) { return strtol(word(words, index), NULL, 0); }

// A held descriptor is named by a small number; what is kept is the descriptor plus one.
static int *slot(const struct words *words)
{
    long index = number(words, 1);
    return &files[index < 0 || index >= MAX_FILES ? 0 : index];
}

static bool close_new(int descriptor)
{
    if (descriptor < 0) return false;
    close(descriptor);
    return true;
}

// Not opendir(3), which also asks for the attributes.
static bool list(const char *path)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY);
    if (directory < 0) return false;
    long count = 0;
    ssize_t length;
    while ((length = getdents64(directory, buffer, BUFFER)) > 0)
        for (ssize_t at = 0; at < length; count++) at += ((struct dirent64 *)(buffer + at))->d_reclen;
    int failure = errno;
    close(directory);
    errno = failure;
    if (length < 0) return false;
    say(true);
    printf("\t%ld", count);
    return true;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

// The names in order: two directories with the same content give the same answer.
static void names(const char *path)
{
    static char *name[4096];
    size_t count = 0;
    DIR *directory = opendir(path);
    if (!directory) {
        say(false);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) && count < 4096;) name[count++] = strdup(entry->d_name);
    closedir(directory);
    qsort(name, count, sizeof *name, by_name);
    say(true);
    putchar('\t');
    for (size_t i = 0; i < count; free(name[i++])) {
        if (i) putchar(' ');
        say_bytes(name[i], strlen(name[i]));
    }
}

// All that does not depend on when and where the object was made.
static void attributes(const char *path)
{
    struct stat st;
    if (lstat(path, &st)) {
        say(false);
        return;
    }
    say(true);
    printf("\t%o %u %u %lu %lld %lu", st.st_mode, st.st_uid, st.st_gid, (unsigned long)st.st_nlink,
        (long long)st.st_size, (unsigned long)st.st_rdev);
}

static void status(const char *path)
{
    struct stat st;
    if (lstat(path, &st)) {
        say(false);
        return;
    }
    say(true);
    printf("\t%u %u %o %lu %lld", st.st_uid, st.st_gid, st.st_mode & 07777, (unsigned long)st.st_nlink,
        (long long)st.st_size);
}

static bool change_directory(const char *path)
{
    if (chdir(path)) return false;
    return chdir("/") == 0;
}

static bool set_times(const char *path, bool chosen)
{
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    return utimensat(AT_FDCWD, path, chosen ? times : NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool make_node(const char *path, mode_t mode, const char *kind)
{
    mode_t type = strcmp(kind, "fifo") == 0 ? S_IFIFO : strcmp(kind, "socket") == 0 ? S_IFSOCK
        : strcmp(kind, "blk") == 0 ? S_IFBLK : S_IFCHR;
    // /dev/null, and a block device that nobody has.
    return mknod(path, mode | type, type == S_IFCHR ? makedev(1, 3) : type == S_IFBLK ? makedev(240, 7) : 0) == 0;
}

static bool status_of_volume(const char *path)
{
    struct statfs st;
    return statfs(path, &st) == 0;
}

// copy_file_range(2) of the first bytes.
static bool copy_contents(const char *from, const char *to)
{
    int source = open(from, O_RDONLY);
    if (source < 0) return false;
    int destination = open(to, O_WRONLY);
    bool copied = destination >= 0 && copy_file_range(source, NULL, destination, NULL, 16, 0) >= 0;
    int failure = errno;
    close(source);
    if (destination >= 0) close(destination);
    errno = failure;
    return copied;
}

// mmap, one byte written through it.
static bool map_and_write(int descriptor)
{
    char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page == MAP_FAILED) return false;
    page[0] = 'M';
    return munmap(page, 1) == 0;
}

// A mapping that stays, one for each slot.
static char *mappings[64];

static bool map_and_keep(int slot_number, int descriptor, bool may_write)
{
    if (slot_number < 0 || slot_number >= 64) return false;
    char *page = mmap(NULL, 4096, PROT_READ | (may_write ? PROT_WRITE : 0), MAP_SHARED, descriptor, 0);
    if (page == MAP_FAILED) return false;
    mappings[slot_number] = page;
    return true;
}

static sigjmp_buf no_room;

static void on_bus_error(int signal)
{
    siglongjmp(no_room, signal);
}

// Touches each page of a mapping of the whole file and waits for the disk.
static bool map_and_fill(int descriptor)
{
    struct stat st;
    if (fstat(descriptor, &st)) return false;
    signal(SIGBUS, on_bus_error);
    if (sigsetjmp(no_room, 1)) {
        errno = ENOSPC;
        return false;
    }
    char *pages = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (pages == MAP_FAILED) return false;
    for (off_t at = 0; at < st.st_size; at += 4096) pages[at] = 'M';
    bool synced = msync(pages, (size_t)st.st_size, MS_SYNC) == 0;
    int failure = errno;
    munmap(pages, (size_t)st.st_size);
    errno = failure;
    return synced;
}

static bool link_held(int descriptor, const char *path)
{
    char held[64];
    snprintf(held, sizeof held, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, held, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

// Calls on held descriptors; false when the word is none of them.
static bool act_on_file(const struct words *w, const char *call)
{
    int *file = slot(w);
    int descriptor = *file - 1;
    if (strcmp(call, "hold") == 0) {
        int opened = open(word(w, 2), (int)number(w, 3), (mode_t)number(w, 4));
        if (opened >= 0) *file = opened + 1;
        say(opened >= 0);
    } else if (strcmp(call, "close") == 0) {
        *file = 0;
        say(close(descriptor) == 0);
    } else if (strcmp(call, "write") == 0) {
        say(write(descriptor, word(w, 2), w->length[2]) >= 0);
    } else if (strcmp(call, "pwrite") == 0) {
        say(pwrite(descriptor, word(w, 3), w->length[3], number(w, 2)) >= 0);
    } else if (strcmp(call, "pread") == 0) {
        say_value(pread(descriptor, buffer, 4096, number(w, 2)));
    } else if (strcmp(call, "setfl") == 0) {
        say(fcntl(descriptor, F_SETFL, (int)number(w, 2)) == 0);
    } else if (strcmp(call, "map") == 0) {
        say(map_and_write(descriptor));
    } else if (strcmp(call, "mapkeep") == 0) {
        say(map_and_keep((int)number(w, 1), descriptor, number(w, 2) != 0));
    } else if (strcmp(call, "mapstore") == 0) {
        char *page = mappings[number(w, 1) & 63];
        if (page) page[number(w, 2) & 4095] = word(w, 3)[0];
        say(page != NULL);
    } else if (strcmp(call, "mapload") == 0) {
        char *page = mappings[number(w, 1) & 63];
        say_value(page ? (memcpy(buffer, page, 8), 8) : -1);
    } else if (strcmp(call, "unmap") == 0) {
        char **page = &mappings[number(w, 1) & 63];
        say(*page && munmap(*page, 4096) == 0);
        *page = NULL;
    } else if (strcmp(call, "mapfill") == 0) {
        say(map_and_fill(descriptor));
    } else if (strcmp(call, "ftruncate") == 0) {
        say(ftruncate(descriptor, number(w, 2)) == 0);
    } else if (strcmp(call, "fallocate") == 0) {
        say(fallocate(descriptor, (int)number(w, 2), number(w, 3), number(w, 4)) == 0);
    } else if (strcmp(call, "fd") == 0) {
        // Its number: /proc/self/fd/N/NAME is openat(2) and its kin with any call.
        say(true);
        printf("\t%d", descriptor);
    } else if (strcmp(call, "fstat") == 0) {
        struct stat st;
        say(fstat(descriptor, &st) == 0);
    } else if (strcmp(call, "fchdir") == 0) {
        say(fchdir(descriptor) == 0 && chdir("/") == 0);
    } else if (strcmp(call, "relist") == 0) {
        lseek(descriptor, 0, SEEK_SET);
        say(getdents64(descriptor, buffer, BUFFER) >= 0);
    } else if (strcmp(call, "fchmod") == 0) {
        say(fchmod(descriptor, (mode_t)number(w, 2)) == 0);
    } else if (strcmp(call, "linkheld") == 0) {
        say(link_held(descriptor, word(w, 2)));
    } else {
        return false;
    }
    return true;
}

// Calls that make something; false when the word is none of them.
static bool act_creating(const struct words *w, const char *call, const char *path)
{
    mode_t mode = (mode_t)number(w, 2);
    mode_t mask = umask((mode_t)number(w, 3));
    bool known = true;
    if (strcmp(call, "create") == 0) say(close_new(open(path, O_CREAT | O_EXCL | O_WRONLY, mode)));
    else if (strcmp(call, "mkdir") == 0) say(mkdir(path, mode) == 0);
    else if (strcmp(call, "mkfifo") == 0) say(mkfifo(path, mode) == 0);
    else if (strcmp(call, "mknod") == 0) say(make_node(path, mode, word(w, 4)));
    else known = false;
    umask(mask);
    return known;
}

static bool act_on_xattr(const struct words *w, const char *call, const char *path)
{
    if (strcmp(call, "getxattr") == 0) say_value(lgetxattr(path, word(w, 2), buffer, BUFFER));
    else if (strcmp(call, "listxattr") == 0) say_value(llistxattr(path, buffer, BUFFER));
    else if (strcmp(call, "setxattr") == 0) say(lsetxattr(path, word(w, 2), word(w, 3), w->length[3], (int)number(w, 4)) == 0);
    else if (strcmp(call, "removexattr") == 0) say(lremovexattr(path, word(w, 2)) == 0);
    else return false;
    return true;
}

// What asks and changes nothing, and the rest.
static bool act_on_path(const struct words *w, const char *call, const char *path)
{
    if (strcmp(call, "open") == 0) say(close_new(open(path, (int)number(w, 2), 0666)));
    else if (strcmp(call, "borrowed") == 0)
        open_borrowed(path, (uid_t)number(w, 2), (uid_t)number(w, 3), (gid_t)number(w, 4), (gid_t)number(w, 5),
            (gid_t)number(w, 6));
    else if (strcmp(call, "access") == 0) say(faccessat(AT_FDCWD, path, (int)number(w, 2), (int)number(w, 3)) == 0);
    else if (strcmp(call, "exec") == 0) {
        char *arguments[] = {(char *)path, NULL};
        say(execv(path, arguments) == 0);
    } else if (strcmp(call, "chdir") == 0) say(change_directory(path));
    else if (strcmp(call, "enter") == 0) say(chdir(path) == 0);
    else if (strcmp(call, "statfs") == 0) say(status_of_volume(path));
    else if (strcmp(call, "copy") == 0) say(copy_contents(path, word(w, 2)));
    else if (strcmp(call, "list") == 0) {
        if (!list(path)) say(false);
    } else if (strcmp(call, "stat") == 0) status(path);
    else if (strcmp(call, "attributes") == 0) attributes(path);
    else if (strcmp(call, "names") == 0) names(path);
    else if (strcmp(call, "readlink") == 0) say_value(readlink(path, buffer, BUFFER));
    else if (strcmp(call, "truncate") == 0) say(truncate(path, number(w, 2)) == 0);
    else if (strcmp(call, "unlink") == 0) say(unlink(path) == 0);
    else if (strcmp(call, "rmdir") == 0) say(rmdir(path) == 0);
    else if (strcmp(call, "symlink") == 0) say(symlink(path, word(w, 2)) == 0);
    else if (strcmp(call, "link") == 0) say(link(path, word(w, 2)) == 0);
    else if (strcmp(call, "rename") == 0)
        say(renameat2(AT_FDCWD, path, AT_FDCWD, word(w, 2), (unsigned)number(w, 3)) == 0);
    else if (strcmp(call, "chmod") == 0) say(chmod(path, (mode_t)number(w, 2)) == 0);
    else if (strcmp(call, "chown") == 0) say(lchown(path, (uid_t)number(w, 2), (gid_t)number(w, 3)) == 0);
    else if (strcmp(call, "utimes") == 0) say(set_times(path, strcmp(word(w, 2), "explicit") == 0));
    else return false;
    return true;
}

void act(const struct words *w)
{
    const char *call = word(w, 0), *path = word(w, 1);
    if (act_on_path(w, call, path) || act_on_xattr(w, call, path) || act_on_file(w, call)
        || act_creating(w, call, path))
        return;
    fputs("unknown-call", stdout);
}
