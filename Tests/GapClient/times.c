#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The exit status of a call that did not succeed, which says itself where.
#define FAILED (fprintf(stderr, "times.c:%d: %s\n", __LINE__, strerror(errno)), 2)

int run_shared(int rounds, const char *prefix);
int run_kept(int rounds, const char *prefix);
int run_stored(int rounds, const char *prefix);
int run_set(int rounds, const char *prefix);
int run_looked(int rounds, const char *prefix);

static bool is_before(struct timespec left, struct timespec right)
{
    return left.tv_sec < right.tv_sec || (left.tv_sec == right.tv_sec && left.tv_nsec < right.tv_nsec);
}

static struct timespec now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time;
}

// Some time in a close, or shortly after it.
static void wait_up_to(int microseconds)
{
    struct timespec until = now(CLOCK_MONOTONIC);
    until.tv_nsec += rand() % microseconds * 1000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (is_before(now(CLOCK_MONOTONIC), until)) {}
}

static const struct timespec old[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000, .tv_nsec = 7}};

static bool is_old(const char *path)
{
    struct stat status;
    if (stat(path, &status)) exit(FAILED);
    return status.st_mtim.tv_sec == old[1].tv_sec && status.st_mtim.tv_nsec == old[1].tv_nsec;
}

static int with_gaps(char *path, const char *prefix, int round)
{
    sprintf(path, "%.4000s%d", prefix, round);
    int file = open(path, O_WRONLY | O_CREAT, 0644);
    if (file < 0) exit(FAILED);
    for (int gap = 0; gap <= 40; gap++)
        if (pwrite(file, "w", 1, gap * 1000000) != 1) exit(FAILED);
    return file;
}

// What a process and its child tell each other.
static volatile int *shared_number(void)
{
    volatile int *number = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (number == MAP_FAILED) exit(FAILED);
    return number;
}

int run_shared(int rounds, const char *prefix)
{
    int lost = 0, early = 0;
    volatile int *closes = shared_number();
    for (int round = 0; round < rounds; round++) {
        char path[4096];
        int file = with_gaps(path, prefix, round);
        *closes = false;
        pid_t child = fork();
        if (child == 0) {
            *closes = true;
            _exit(close(file));
        }
        while (!*closes) {}
        wait_up_to(3000);
        struct timespec began = now(CLOCK_REALTIME_COARSE);
        if (pwrite(file, "w", 1, 0) != 1) return FAILED;
        waitpid(child, NULL, 0);
        struct stat status;
        if (stat(path, &status)) return FAILED;
        if (is_before(status.st_mtim, began)) early++;
        if (close(file)) return FAILED;
        // Past the release, and past the zeros.
        usleep(20000);
        if (stat(path, &status)) return FAILED;
        if (is_before(status.st_mtim, began)) lost++;
        unlink(path);
    }
    printf("%d\n", lost + early);
    return 0;
}

int run_kept(int rounds, const char *prefix)
{
    int moved = 0;
    for (int round = 0; round < rounds; round++) {
        char path[4096];
        int file = with_gaps(path, prefix, round);
        if (futimens(file, old) || close(file)) return FAILED;
        bool is_moved = false;
        for (int look = 0; look < 100; look++)
            if (!is_old(path)) is_moved = true;
        if (round % 2) {
            // An open for writing that comes before the release.
            file = with_gaps(path, prefix, round + rounds);
            if (futimens(file, old) || close(file) || (file = open(path, O_WRONLY)) < 0 || close(file)) return FAILED;
            if (!is_old(path)) is_moved = true;
            unlink(path);
            sprintf(path, "%.4000s%d", prefix, round);
        }
        if (is_moved) moved++;
        unlink(path);
    }
    printf("%d\n", moved);
    return 0;
}

int run_stored(int rounds, const char *prefix)
{
    int lost = 0;
    volatile int *closes = shared_number();
    for (int round = 0; round < rounds; round++) {
        char path[4096];
        sprintf(path, "%.4000s%d", prefix, round);
        int file = open(path, O_RDWR | O_CREAT, 0644);
        if (file < 0 || pwrite(file, "w", 1, 0) != 1 || fsync(file)) return FAILED;
        volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (page == MAP_FAILED) return FAILED;
        *closes = false;
        pid_t child = fork();
        if (child == 0) {
            if (close(file)) _exit(FAILED);
            *closes = true;
            while (*closes) {}
            wait_up_to(8000);
            page[0] = 'm';
            if (msync((void *)page, 4096, MS_SYNC)) _exit(FAILED);
            munmap((void *)page, 4096);
            _exit(0);
        }
        while (!*closes) {}
        // Half of the time the writer is another one than who mapped.
        if (round % 2 && (munmap((void *)page, 4096) || close(file) || (file = open(path, O_WRONLY)) < 0)) return FAILED;
        // Or only the child has it mapped when it closes.
        if (round % 4 == 0) munmap((void *)page, 4096);
        if (ftruncate(file, 8000000000) || futimens(file, old)) return FAILED;
        *closes = false;
        if (close(file)) return FAILED;
        if (round % 4 == 2) munmap((void *)page, 4096);
        int status;
        if (waitpid(child, &status, 0) != child || status) return FAILED;
        if (is_old(path)) lost++;
        usleep(20000);
        if (is_old(path)) lost++;
        unlink(path);
    }
    printf("%d\n", lost);
    return 0;
}

// What touch -r, cp -p and tar do with what they were shown, while a mapping holds the handle.
int run_set(int rounds, const char *prefix)
{
    int undone = 0;
    for (int round = 0; round < rounds; round++) {
        char path[4096];
        sprintf(path, "%.4000s%d", prefix, round);
        int file = open(path, O_RDWR | O_CREAT, 0644);
        if (file < 0 || pwrite(file, "w", 1, 0) != 1 || pwrite(file, "w", 1, 5000000) != 1) return FAILED;
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (page == MAP_FAILED) return FAILED;
        usleep(5000);
        struct stat shown, status;
        if (close(file) || stat(path, &shown)) return FAILED;
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, shown.st_mtim};
        if (utimensat(AT_FDCWD, path, times, 0)) return FAILED;
        munmap(page, 4096);
        usleep(20000);
        if (stat(path, &status)) return FAILED;
        if (is_before(status.st_mtim, shown.st_mtim) || is_before(shown.st_mtim, status.st_mtim)) undone++;
        unlink(path);
    }
    printf("%d\n", undone);
    return 0;
}

// While a close takes its time. A time that goes back is one that should not have been shown.
int run_looked(int rounds, const char *prefix)
{
    int backwards = 0;
    volatile int *step = shared_number();
    for (int round = 0; round < rounds; round++) {
        char path[4096];
        sprintf(path, "%.4000s%d", prefix, round);
        *step = 0;
        pid_t child = fork();
        if (child == 0) {
            struct stat last, status;
            while (*step == 0) {}
            if (stat(path, &last)) _exit(FAILED);
            while (*step == 1) {
                if (stat(path, &status)) _exit(FAILED);
                if (is_before(status.st_mtim, last.st_mtim)) _exit(1);
                last = status;
            }
            _exit(0);
        }
        int file = open(path, O_WRONLY | O_CREAT, 0644);
        if (file < 0 || pwrite(file, "w", 1, 0) != 1 || ftruncate(file, 3000000000)) return perror("open"), 2;
        *step = 1;
        usleep(1000);
        if (close(file)) return perror("close"), 2;
        usleep(5000);
        *step = 2;
        int status;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) > 1) return perror("child"), 2;
        backwards += WEXITSTATUS(status);
        unlink(path);
    }
    printf("%d\n", backwards);
    return 0;
}
