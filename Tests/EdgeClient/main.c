// Calls on the bytes of files with numbers at the edges, on a mount and on the file system behind it, which must answer alike.
//
//     aclfs-edges SEED ROUNDS MOUNTED NATIVE [said]
//                                                     each round makes a file in either directory, and makes the same calls on both;
//                                                     `said` prints each call with both answers
//
// Exit 0: every answer, size and byte was the same but for what is said at `alike`; 1: one was not, said on standard output with its
// seed and the calls before it.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NATIVE, MOUNTED, SIDES, STEPS = 14, EDGES = 12, ROOM = 70000, PLACES = 64 };

static uint64_t state;
static char log_text[16384];
static bool says_all;
// Where this round wrote or cut, to look at every byte near it in the end.
static int64_t places[PLACES];
static int place_count;
static unsigned preferred;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

// 0, and pages, blocks and the ends of 31, 32 and 63 bits, with what is just beside them; also ends of ext4's files. A round prefers one, so
// that its calls meet.
static int64_t edge(void)
{
    static const uint64_t bases[EDGES] = {
        0, 512, 4096, 65536, 1 << 20, UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 40, UINT64_C(1) << 42, UINT64_C(1) << 44,
        UINT64_C(1) << 62, UINT64_C(1) << 63,
    };
    static const int64_t beside[] = { 0, 0, 1, -1, 4095, 4096, -4095, -4096, 511, -512, 2, -2 };
    uint64_t base = bases[draw(3) == 0 ? draw(4) : draw(EDGES)];
    if (draw(2))
        base = bases[preferred];
    return (int64_t)(base + (uint64_t)beside[draw(sizeof beside / sizeof *beside)]);
}

static size_t length(void)
{
    static const size_t lengths[] = { 0, 1, 7, 511, 4095, 4096, 4097, 8192, 65536, 65537 };
    return lengths[draw(sizeof lengths / sizeof *lengths)];
}

__attribute__((format(printf, 1, 2))) static void note(const char *form, ...)
{
    size_t used = strlen(log_text);
    va_list values;
    va_start(values, form);
    if (used + 256 < sizeof log_text)
        vsnprintf(log_text + used, sizeof log_text - used, form, values);
    va_end(values);
}

static void remember(int64_t place)
{
    if (place >= 0 && place_count < PLACES)
        places[place_count++] = place;
}

// What a call gave: its result, or -errno.
struct answer {
    int64_t value;
    uint64_t sum;
};

static struct answer answer(int64_t result) { return (struct answer){ result == -1 && errno ? -errno : result, 0 }; }

static uint64_t sum_of(const unsigned char *bytes, size_t count)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

static unsigned char buffer[ROOM];

struct file {
    char path[4096];
    int fd, appending, other;
};

enum kind {
    TRUNCATE, FTRUNCATE, WRITE, READ, APPEND, ALLOCATE, SEEK_TO, COPY_WITHIN, COPY_OVER, MAP, CLOSE, CUT, TIME, SYNC, ADVISE, KINDS
};
static const char *const words[] = {
    "truncate", "ftruncate", "pwrite", "pread", "append", "fallocate", "lseek", "copy within", "copy over", "mmap", "close", "close, truncate",
    "futimens", "fsync", "fadvise",
};

struct call {
    enum kind kind;
    int64_t first, second;
    size_t count;
    int mode;
    unsigned char byte;
};

static struct call random_call(int64_t size)
{
    static const enum kind often[] = { WRITE, WRITE, FTRUNCATE, SEEK_TO, ALLOCATE, CLOSE, CUT, READ };
    static const int modes[] = {
        0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, FALLOC_FL_PUNCH_HOLE, FALLOC_FL_ZERO_RANGE,
        FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_INSERT_RANGE, FALLOC_FL_UNSHARE_RANGE,
        0x100, -1,
    };
    static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END, SEEK_HOLE, SEEK_HOLE, SEEK_DATA, SEEK_DATA, 7 };
    struct call call = { .kind = draw(2) ? often[draw(sizeof often / sizeof *often)] : draw(KINDS), .first = edge(),
        .second = edge(), .count = length(), .byte = (unsigned char)(1 + draw(255)) };
    // At the end, where the next byte is.
    if (draw(4) == 0)
        call.first = (int64_t)((uint64_t)size + draw(3) - 1);
    if (call.kind == ALLOCATE)
        call.mode = modes[draw(sizeof modes / sizeof *modes)];
    if (call.kind == SEEK_TO)
        call.mode = whences[draw(sizeof whences / sizeof *whences)];
    return call;
}

static void open_file(struct file *file)
{
    file->fd = open(file->path, O_RDWR | O_CREAT, 0644);
    file->appending = open(file->path, O_WRONLY | O_APPEND);
    if (file->fd < 0 || file->appending < 0) {
        printf("open %s: %s\n", file->path, strerror(errno));
        exit(1);
    }
}

static void close_file(struct file *file)
{
    close(file->appending);
    close(file->fd);
}

static int64_t size_of(const struct file *file)
{
    struct stat status;
    return fstat(file->fd, &status) ? -errno : status.st_size;
}

// Copies until nothing more comes: a file system may copy fewer bytes than asked for in one call.
static struct answer copied(int from, int64_t at, int to, int64_t place, size_t count)
{
    int64_t total = 0;
    while (count > 0) {
        loff_t in = at + total, out = place + total;
        ssize_t done = copy_file_range(from, &in, to, &out, count, 0);
        if (done < 0)
            return answer(total ? total : done);
        if (done == 0)
            break;
        total += done;
        count -= (size_t)done;
    }
    return answer(total);
}

// A store into the page at the end of the file, and the byte that it then has.
static struct answer mapped(const struct file *file, const struct call *call)
{
    int64_t size = size_of(file);
    if (size <= 0)
        return answer(0);
    int64_t page = (size - 1) & ~INT64_C(4095);
    unsigned char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file->fd, page);
    if (bytes == MAP_FAILED)
        return answer(-1);
    struct answer result = { .value = 0, .sum = sum_of(bytes, (size_t)(size - page)) };
    (void)call;
    munmap(bytes, 4096);
    return result;
}

static struct answer act(struct file *file, const struct call *call)
{
    errno = 0;
    switch (call->kind) {
    case TRUNCATE: return answer(truncate(file->path, call->first));
    case FTRUNCATE: return answer(ftruncate(file->fd, call->first));
    case WRITE:
        memset(buffer, call->byte, call->count);
        return answer(pwrite(file->fd, buffer, call->count, call->first));
    case READ: {
        memset(buffer, 0, sizeof buffer);
        struct answer result = answer(pread(file->fd, buffer, call->count, call->first));
        if (result.value > 0)
            result.sum = sum_of(buffer, (size_t)result.value);
        return result;
    }
    case APPEND:
        memset(buffer, call->byte, call->count);
        return answer(write(file->appending, buffer, call->count));
    case ALLOCATE: return answer(fallocate(file->fd, call->mode, call->first, call->second));
    case SEEK_TO: {
        lseek(file->fd, 5, SEEK_SET);
        errno = 0;
        return answer(lseek(file->fd, call->first, call->mode));
    }
    case COPY_WITHIN: return copied(file->fd, call->first, file->fd, call->second, call->count);
    case COPY_OVER: return copied(file->other, call->first, file->fd, call->second, call->count);
    case MAP: return mapped(file, call);
    case CLOSE: {
        // A close that cannot reserve the gaps of the file says ENOSPC (decision 5).
        close_file(file);
        open_file(file);
        return answer(0);
    }
    case CUT: {
        close_file(file);
        errno = 0;
        struct answer result = answer(truncate(file->path, call->first));
        open_file(file);
        return result;
    }
    case TIME: {
        struct timespec times[2] = { { .tv_sec = call->first }, { .tv_sec = call->second, .tv_nsec = 999999999 } };
        struct stat status = { 0 };
        struct answer result = answer(futimens(file->fd, times));
        if (result.value == 0 && fstat(file->fd, &status) == 0)
            result.sum = (uint64_t)status.st_mtim.tv_sec;
        return result;
    }
    case SYNC: return answer(fsync(file->fd));
    default: return answer(-posix_fadvise(file->fd, call->first, call->second, POSIX_FADV_WILLNEED));
    }
}

static bool is_hole_seek(const struct call *call) { return call->kind == SEEK_TO && (call->mode == SEEK_HOLE || call->mode == SEEK_DATA); }

static bool is_place_or_none(const struct call *call, int64_t answer, int64_t size)
{
    return answer >= 0 ? answer <= size : answer == -ENXIO && call->mode == SEEK_DATA;
}

// Whether the mount may answer so where the file system itself answers otherwise.
static bool alike(const struct call *call, struct answer native, struct answer mounted, int64_t size)
{
    if (native.value == mounted.value && native.sum == mounted.sum)
        return true;
    // A position may be set that no file of that file system reaches.
    if (call->kind == SEEK_TO && call->mode <= SEEK_END && native.value == -EINVAL && mounted.value >= 0)
        return true;
    // The kernel compares with the largest file of FUSE first, and then with the bytes to copy.
    if ((call->kind == COPY_WITHIN || call->kind == COPY_OVER) && native.value == -EFBIG && (mounted.value == 0 || mounted.value == -EINVAL))
        return true;
    if (!is_hole_seek(call))
        return false;
    // The kernel counts past the last page that a file can have and answers with a negative place.
    if (native.value < -4095)
        return mounted.value == size;
    // Btrfs takes a place before the beginning for the beginning, and whether there is data then depends on what it has written already.
    if (call->first < 0)
        return is_place_or_none(call, native.value, size) && is_place_or_none(call, mounted.value, size);
    // What was read into memory counts as data in reserved space, and the daemon reads other pieces.
    if (call->first >= size)
        return false;
    if (mounted.value == -ENXIO)
        return call->mode == SEEK_DATA;
    return mounted.value >= call->first && mounted.value <= size;
}

// FUSE passes on only these modes, and checks them before the numbers.
static bool is_unknown(const struct call *call, struct answer mounted)
{
    const int known = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
    return call->kind == ALLOCATE && call->mode & ~known && mounted.value == -EOPNOTSUPP;
}

static bool say(const char *what, const struct call *call, struct answer native, struct answer mounted)
{
    printf("%s: %s %" PRId64 " %" PRId64 " count %zu mode %d: natively %" PRId64 " (%" PRIx64 "), here %" PRId64 " (%" PRIx64 ")\n%s",
        what, words[call->kind], call->first, call->second, call->count, call->mode, native.value, native.sum, mounted.value,
        mounted.sum, log_text);
    return false;
}

static struct answer near(const struct file *file, int64_t place)
{
    errno = 0;
    int64_t start = place > 4100 ? place - 4100 : 0;
    // Behind the last byte that a file can have.
    size_t count = INT64_MAX - start < 9000 ? (size_t)(INT64_MAX - start) : 9000;
    memset(buffer, 0, sizeof buffer);
    struct answer result = answer(pread(file->fd, buffer, count, start));
    if (result.value > 0)
        result.sum = sum_of(buffer, (size_t)result.value);
    return result;
}

static bool round_is_right(struct file files[SIDES])
{
    log_text[0] = 0;
    place_count = 0;
    preferred = (unsigned)draw(EDGES);
    for (int side = 0; side < SIDES; side++)
        open_file(&files[side]);
    bool right = true;
    for (int step = 0; right && step < STEPS; step++) {
        int64_t size = size_of(&files[NATIVE]);
        struct call call = random_call(size);
        struct answer answers[SIDES];
        for (int side = 0; side < SIDES; side++)
            answers[side] = act(&files[side], &call);
        note("  %s %" PRId64 " %" PRId64 " count %zu mode %d byte %d: %" PRId64 ", %" PRId64 "\n", words[call.kind], call.first,
            call.second, call.count, call.mode, call.byte, answers[NATIVE].value, answers[MOUNTED].value);
        // What is full may be so at another byte; and what one side cannot do leaves two files.
        if (answers[NATIVE].value == -ENOSPC || answers[MOUNTED].value == -ENOSPC || is_unknown(&call, answers[MOUNTED]))
            goto end;
        if (!alike(&call, answers[NATIVE], answers[MOUNTED], size))
            right = say("another answer", &call, answers[NATIVE], answers[MOUNTED]);
        if (call.kind <= WRITE || call.kind >= ALLOCATE)
            remember(call.first), remember(call.second);
        struct answer sizes[SIDES] = { { size_of(&files[NATIVE]), 0 }, { size_of(&files[MOUNTED]), 0 } };
        if (right && sizes[NATIVE].value != sizes[MOUNTED].value)
            right = say("another size after", &call, sizes[NATIVE], sizes[MOUNTED]);
        if (sizes[NATIVE].value > 0)
            remember(sizes[NATIVE].value - 1);
    }
    for (int index = 0; right && index < place_count; index++) {
        struct answer native = near(&files[NATIVE], places[index]), mounted = near(&files[MOUNTED], places[index]);
        struct call call = { .kind = READ, .first = places[index] };
        if (native.value != mounted.value || native.sum != mounted.sum)
            right = say("other bytes", &call, native, mounted);
    }
end:
    if (says_all)
        printf("%s\n", log_text);
    for (int side = 0; side < SIDES; side++) {
        close_file(&files[side]);
        unlink(files[side].path);
    }
    return right;
}

int main(int count, char **arguments)
{
    if (count < 5) {
        fprintf(stderr, "usage: aclfs-edges SEED ROUNDS MOUNTED NATIVE [said]\n");
        return 2;
    }
    uint64_t seed = strtoull(arguments[1], NULL, 10);
    int rounds = atoi(arguments[2]);
    says_all = count > 5;
    struct file files[SIDES];
    for (int side = 0; side < SIDES; side++) {
        char path[4096];
        const char *directory = arguments[side == MOUNTED ? 3 : 4];
        snprintf(files[side].path, sizeof files[side].path, "%s/edges", directory);
        snprintf(path, sizeof path, "%s/other", directory);
        files[side].other = open(path, O_RDWR | O_CREAT, 0644);
        memset(buffer, 'o', sizeof buffer);
        if (files[side].other < 0 || pwrite(files[side].other, buffer, 10000, 5000) != 10000) {
            printf("%s: %s\n", path, strerror(errno));
            return 1;
        }
    }
    for (int index = 0; index < rounds; index++) {
        // Each round by itself, so that one can be repeated.
        state = seed + (uint64_t)index * 0x9E3779B97F4A7C15u;
        state ^= state >> 31;
        state = state * 0xBF58476D1CE4E5B9u | 1;
        if (!round_is_right(files)) {
            printf("seed %" PRIu64 ", round %d\n", seed, index);
            return 1;
        }
    }
    return 0;
}
