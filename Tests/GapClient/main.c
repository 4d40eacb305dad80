// Works on one file as many programs do at once, for the tests of zero-fill.
//
//     aclfs-gaps random SEED STEPS PROCESSES FILE [SAME]
//                                                     random calls by several processes; prints the old and
//                                                     the new end. SAME: the file under another path, which every
//                                                     other process uses
//     aclfs-gaps race ROUNDS FILE                     a second writer fills the gap that the first one closes over
//     aclfs-gaps close SIZE FILE                      makes FILE so long, says `ready`, waits for a line, closes, and says
//                                                     what close(2) gave; SIGUSR1 interrupts it
//     aclfs-gaps holes COUNT FILE                     makes FILE with so many holes, and says how many milliseconds close(2) took
//     aclfs-gaps mapped COUNT PREFIX                  makes so many files with a gap, keeps a mapping of each, says `ready`, and
//                                                     ends at a line
//     aclfs-gaps shared ROUNDS PREFIX                 in each round one process closes a file with a gap while another writes
//                                                     through the same handle; prints how often st_mtime was before the write
//     aclfs-gaps kept ROUNDS PREFIX                   in each round a file with gaps gets a time and is closed; prints how often another
//                                                     was seen
//     aclfs-gaps stored ROUNDS PREFIX                 in each round one process closes a file with a gap while another stores through a
//                                                     mapping; prints how often st_mtime was the one before
//
// Exit 0: every byte was right at every look, also before close; 1: a byte was not, said on standard output.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int run_shared(int rounds, const char *prefix);
int run_kept(int rounds, const char *prefix);
int run_stored(int rounds, const char *prefix);
int run_set(int rounds, const char *prefix);
int run_looked(int rounds, const char *prefix);

enum { LIMIT = 1 << 20, HANDLES = 4 };

// Shared by the processes, which take turns: what the file must hold.
struct model {
    uint64_t random;
    int64_t size, old_end;
    bool failed;
    unsigned char bytes[LIMIT];
};

static struct model *model;
// In a process group of their own, one of several that take turns.
static bool in_turn;

static uint64_t draw(uint64_t below)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return model->random % below;
}

static void fail(const char *what, int64_t at)
{
    printf("%s at %lld: errno %d\n", what, (long long)at, errno);
    fflush(stdout);
    // Whose turn it is takes the turn along: the others would wait for ever.
    if (in_turn) {
        model->failed = true;
        kill(0, SIGKILL);
    }
    _exit(1);
}

static void wrote(int64_t at, unsigned char value, int64_t count)
{
    memset(model->bytes + at, value, (size_t)count);
    if (at + count > model->size) model->size = at + count;
}

static void resized(int64_t size)
{
    if (size < model->size) memset(model->bytes + size, 0, (size_t)(model->size - size));
    if (size < model->old_end) model->old_end = size;
    model->size = size;
}

static void compare(int descriptor)
{
    static unsigned char seen[LIMIT + 1];
    ssize_t count = pread(descriptor, seen, sizeof seen, 0);
    if (count != model->size) fail("wrong size", count);
    for (int64_t i = 0; i < count; i++)
        if (seen[i] != model->bytes[i]) fail("wrong byte", i);
}

static void map_and_write(int descriptor, unsigned char value)
{
    if (model->size == 0) return;
    int64_t at = (int64_t)draw((uint64_t)model->size), count = 1 + (int64_t)draw(5000);
    if (at + count > model->size) count = model->size - at;
    unsigned char *place = mmap(NULL, (size_t)model->size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (place == MAP_FAILED) fail("mmap", at);
    memset(place + at, value, (size_t)count);
    wrote(at, value, count);
    if (munmap(place, (size_t)model->size)) fail("munmap", at);
}

// One call on one of the process' handles.
static void step(int *handles, const char *path)
{
    int index = (int)draw(HANDLES), *handle = &handles[index];
    unsigned char value = (unsigned char)(1 + draw(255));
    if (*handle < 0) {
        int flags = O_RDWR | (draw(12) == 0 ? O_TRUNC : 0) | (draw(5) == 0 ? O_APPEND : 0);
        *handle = open(path, flags);
        if (*handle < 0) fail("open", 0);
        if (flags & O_TRUNC) resized(0);
        return;
    }
    int64_t at = (int64_t)draw(LIMIT - 9000), count = 1 + (int64_t)draw(8000);
    switch (draw(9)) {
    case 0: case 1: case 2: {
        unsigned char bytes[8001];
        memset(bytes, value, sizeof bytes);
        if (fcntl(*handle, F_GETFL) & O_APPEND) {
            if (model->size + count > LIMIT) return;
            at = model->size;
        }
        if (pwrite(*handle, bytes, (size_t)count, at) != count) fail("pwrite", at);
        wrote(at, value, count);
        break;
    }
    case 3:
        if (ftruncate(*handle, at)) fail("ftruncate", at);
        resized(at);
        break;
    case 4: map_and_write(*handle, value); break;
    case 5: {
        int other = (int)draw(HANDLES);
        if (handles[other] < 0) handles[other] = dup(*handle);
        break;
    }
    case 6: compare(*handle); break;
    default:
        if (close(*handle)) fail("close", 0);
        *handle = -1;
    }
}

// Processes take turns by a pipe, so that there is one truth; FLUSH, RELEASE and the fill do not.
static int run_random(uint64_t seed, int steps, int processes, const char *path, const char *same)
{
    model = mmap(NULL, sizeof *model, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (model == MAP_FAILED) return 2;
    model->random = seed * 0x9E3779B97F4A7C15u + 1;
    int turn[2];
    if (pipe(turn)) return 2;
    struct stat status;
    if (stat(path, &status) == 0) {
        // What is there is where the old end is; a hole in it is not ours.
        int old = open(path, O_RDONLY);
        model->size = model->old_end = status.st_size;
        if (pread(old, model->bytes, LIMIT, 0) != status.st_size) return 2;
        close(old);
    }
    int keeper = open(path, O_RDWR | O_CREAT, 0644);
    if (keeper < 0) fail("open", 0);
    pid_t group = 0;
    // Kept by all of them: the session of writers is one, so its old end is known.
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) return 2;
        if (child > 0) {
            // Set by both: whoever comes first.
            if (group == 0) group = child;
            setpgid(child, group);
            continue;
        }
        setpgid(0, group);
        in_turn = true;
        int handles[HANDLES] = {-1, -1, -1, -1};
        for (int done = 0; done < steps; done++) {
            char token;
            if (read(turn[0], &token, 1) != 1) _exit(2);
            step(handles, i % 2 ? same : path);
            // One is killed with files open, in its turn.
            if (i == 0 && done == steps - 1 && write(turn[1], "t", 1) == 1) kill(getpid(), SIGKILL);
            if (write(turn[1], "t", 1) != 1) _exit(2);
        }
        _exit(0);
    }
    if (write(turn[1], "t", 1) != 1) return 2;
    int status_of, bad = 0;
    while (wait(&status_of) > 0)
        if (!(WIFEXITED(status_of) && WEXITSTATUS(status_of) == 0) && !(WIFSIGNALED(status_of) && WTERMSIG(status_of) == SIGKILL))
            bad = 1;
    if (bad || model->failed) return 1;
    compare(keeper);
    if (close(keeper)) fail("close", 0);
    int look = open(path, O_RDONLY);
    compare(look);
    printf("%lld %lld\n", (long long)model->old_end, (long long)model->size);
    return 0;
}

enum { RECORDS = 128, RECORD = 4096 };

// The first makes a gap and closes; the second fills it by small records or through a mapping at the same time.
static int run_race(int rounds, const char *path)
{
    for (int round = 0; round < rounds; round++) {
        unlink(path);
        int go[2];
        if (pipe(go)) return 2;
        int first = open(path, O_RDWR | O_CREAT, 0644);
        if (first < 0) fail("create", round);
        if (ftruncate(first, RECORDS * RECORD)) fail("ftruncate", round);
        pid_t child = fork();
        if (child == 0) {
            char token;
            close(go[1]);
            close(first);
            if (read(go[0], &token, 1) != 0) _exit(2);
            int second = open(path, O_RDWR);
            if (second < 0) fail("open", round);
            unsigned char *place = NULL, record[RECORD];
            if (round % 2) {
                place = mmap(NULL, RECORDS * RECORD, PROT_READ | PROT_WRITE, MAP_SHARED, second, 0);
                if (place == MAP_FAILED) fail("mmap", round);
                close(second);
            }
            for (int i = 0; i < RECORDS; i++) {
                memset(record, i % 255 + 1, sizeof record);
                // Half of each record stays untouched.
                if (place) memcpy(place + i * RECORD, record, RECORD / 2);
                else if (pwrite(second, record, RECORD / 2, i * RECORD) != RECORD / 2) fail("pwrite", i);
            }
            if (place) munmap(place, RECORDS * RECORD);
            else if (close(second)) fail("close", round);
            _exit(0);
        }
        close(go[0]);
        close(go[1]);
        if (close(first)) fail("close", round);
        int status;
        waitpid(child, &status, 0);
        if (status) return 1;
        int look = open(path, O_RDONLY);
        static unsigned char seen[RECORDS * RECORD], expected[RECORDS * RECORD];
        for (int i = 0; i < RECORDS; i++) memset(expected + i * RECORD, i % 255 + 1, RECORD / 2);
        for (int again = 0; again < 2; again++) {
            if (pread(look, seen, sizeof seen, 0) != (ssize_t)sizeof seen) fail("short", round);
            if (memcmp(seen, expected, sizeof seen) != 0) fail("a byte was lost", round);
            if (!again) usleep(1000);
        }
        close(look);
    }
    return 0;
}

static void on_signal(int signal)
{
    (void)signal;
}

static int run_close(int64_t size, const char *path)
{
    // No SA_RESTART: what is waited for ends.
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    int file = open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0) fail("open", 0);
    if (ftruncate(file, size)) fail("ftruncate", size);
    printf("ready\n");
    fflush(stdout);
    if (getchar() == EOF) return 2;
    printf("%s\n", close(file) ? strerrorname_np(errno) : "ok");
    return 0;
}

static int run_holes(int count, const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0) fail("open", 0);
    for (int64_t i = 1; i <= count; i++)
        if (pwrite(file, "x", 1, i * 8192) != 1) fail("pwrite", i);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (close(file)) fail("close", 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%lld\n", (long long)(after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000);
    return 0;
}

static int run_mapped(int count, const char *prefix)
{
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s%d", prefix, i);
        int file = open(path, O_RDWR | O_CREAT, 0644);
        if (file < 0) fail("open", i);
        if (ftruncate(file, 16384)) fail("ftruncate", i);
        if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED) fail("mmap", i);
        if (close(file)) fail("close", i);
    }
    printf("ready\n");
    fflush(stdout);
    getchar();
    return 0;
}

int main(int argc, char **argv)
{
    if ((argc == 6 || argc == 7) && strcmp(argv[1], "random") == 0)
        return run_random(strtoull(argv[2], NULL, 10), atoi(argv[3]), atoi(argv[4]), argv[5], argv[argc - 1]);
    if (argc == 4 && strcmp(argv[1], "race") == 0) return run_race(atoi(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "close") == 0) return run_close(atoll(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "holes") == 0) return run_holes(atoi(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "mapped") == 0) return run_mapped(atoi(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "shared") == 0) return run_shared(atoi(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "kept") == 0) return run_kept(atoi(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "stored") == 0) return run_stored(atoi(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "set") == 0) return run_set(atoi(argv[2]), argv[3]);
    if (argc == 4 && strcmp(argv[1], "looked") == 0) return run_looked(atoi(argv[2]), argv[3]);
    return 2;
}
