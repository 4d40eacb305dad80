// Workers that start together, and commands from start to end.
#include "load.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct start {
    atomic_int ready, go;
    // Set before `go`: one clock for all, so that who gets a processor late has been idle, and not begun late.
    double begin;
    double end[MAX_WORKERS], done[MAX_WORKERS], all[MAX_WORKERS];
};

static void work(const struct operation *operation, struct worker *worker, double seconds, struct start *start)
{
    if (operation->begin) operation->begin(worker);
    // What is first done is not what is measured.
    start->all[worker->number] = operation->batch(worker);
    atomic_fetch_add(&start->ready, 1);
    while (!atomic_load(&start->go)) usleep(50);
    double end = start->begin, done = 0;
    while (end - start->begin < seconds) {
        done += operation->batch(worker);
        end = now();
    }
    start->end[worker->number] = end;
    start->done[worker->number] = done;
    start->all[worker->number] += done;
    if (operation->end) operation->end(worker);
}

struct rate measure(const struct operation *operation, const char *top, double seconds, int workers, long count)
{
    struct start *start = mmap(NULL, sizeof *start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) give_up("mmap");
    for (int number = 0; number < workers; number++) {
        pid_t pid = fork();
        if (pid < 0) give_up("fork");
        if (pid) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct worker worker = {.number = number, .top = top, .count = count, .descriptor = -1,
            .random = 0x9E3779B97F4A7C15u * (uint64_t)(number + 1)};
        work(operation, &worker, seconds, start);
        _exit(0);
    }
    int status, left = workers;
    while (atomic_load(&start->ready) < workers) {
        // A worker that could not begin would be waited for in vain.
        if (waitpid(-1, &status, WNOHANG) > 0) exit(1);
        usleep(50);
    }
    start->begin = now();
    atomic_store(&start->go, 1);
    while (left > 0 && wait(&status) > 0) {
        if (status) exit(1);
        left--;
    }
    struct rate rate = {0, 0};
    double end = start->begin, done = 0;
    for (int number = 0; number < workers; number++) {
        if (start->end[number] > end) end = start->end[number];
        done += start->done[number];
        rate.all += start->all[number];
    }
    rate.each_second = done / (end - start->begin);
    return rate;
}

double time_command(char **words, int *status)
{
    double begin = now();
    pid_t pid = vfork();
    if (pid < 0) give_up("vfork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // Only the time is printed; what the command prints is lost.
        int null = open("/dev/null", O_RDWR);
        if (null >= 0) dup2(null, 0), dup2(null, 1);
        execvp(words[0], words);
        _exit(127);
    }
    int raw;
    while (waitpid(pid, &raw, 0) < 0)
        if (errno != EINTR) give_up("waitpid");
    *status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    if (*status == 127) fprintf(stderr, "aclfs-load: %s: cannot be started\n", words[0]);
    return now() - begin;
}
