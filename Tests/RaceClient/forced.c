// Traces that need a delay between the moment when an answer is written and the one when it is used.
//
// The victim lives on processor 1, the daemon and everybody else on processor 0. While the victim sleeps in its
// request, a real-time process takes processor 1: the daemon answers, the victim cannot go on. The change and
// what must follow it are made meanwhile. When exactly the victim sleeps is not known from outside, so the
// moment moves from attempt to attempt, and those are counted in which the victim really was under way.
#include "race.h"
#include <dirent.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { LONGEST_HOG = 30000 };

static long microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void spin(long time)
{
    for (long end = microseconds() + time; microseconds() < end;) ;
}

static _Noreturn void be_hog(void)
{
    struct sched_param first = {.sched_priority = 50};
    stay_on(0, 1);
    if (sched_setscheduler(0, SCHED_FIFO, &first)) give_up("SCHED_FIFO: %s", strerror(errno));
    for (;;) {
        syscall(SYS_futex, &shared->hog, FUTEX_WAIT, 0, NULL, NULL, 0);
        if (!shared->hog) continue;
        shared->hogging = 1;
        for (long end = microseconds() + LONGEST_HOG; shared->hog && microseconds() < end;) ;
        shared->hogging = 0;
        while (shared->hog) nap(50);
    }
}

static _Noreturn void be_victim(const struct step *step)
{
    stay_on(0, 1);
    take_on(&step->who);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int attempt = 1;; attempt++) {
        // Without sleep: it begins as soon as it is told.
        while (shared->go != attempt) ;
        perform(&step->call, attempt);
        shared->done = attempt;
    }
}

static pid_t start(const struct step *victim)
{
    pid_t pid = fork();
    if (pid < 0) give_up("fork: %s", strerror(errno));
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (victim) be_victim(victim);
    be_hog();
}

static void keep_aside(pid_t daemon)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/task", daemon);
    DIR *tasks = opendir(name);
    if (!tasks) give_up("%s: %s", name, strerror(errno));
    for (struct dirent *entry; (entry = readdir(tasks));)
        if (entry->d_name[0] != '.') stay_on((pid_t)atoi(entry->d_name), 0);
    closedir(tasks);
}

static void make(const struct script *script, int when, long attempt)
{
    for (int i = 0; i < script->steps; i++) {
        const struct step *step = &script->step[i];
        if ((int)step->when != when) continue;
        borrow(&step->who);
        int got = perform(&step->call, attempt);
        if (step->call.open == ANYTHING || got == step->call.open) continue;
        take_note(&step->who, &step->call, attempt, when == BEFORE, got, step->call.open);
    }
    borrow(&(struct identity){0});
}

// While the one who forces goes first on processor 0 too, the daemon cannot answer before the victim is held up.
static void go_first(bool first)
{
    struct sched_param parameters = {.sched_priority = first ? 5 : 0};
    if (sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER, &parameters))
        give_up("SCHED_FIFO: %s", strerror(errno));
}

static bool try_once(const struct script *script, long attempt)
{
    make(script, BEFORE, attempt);
    // In every second attempt the first request of the victim's call is the late one, else one of them.
    go_first(attempt % 2);
    shared->go = (int)attempt;
    spin(attempt % 2 ? 20 + attempt % 40 : 4 + attempt * 7 % 150);
    shared->hog = 1;
    syscall(SYS_futex, &shared->hog, FUTEX_WAKE, 1, NULL, NULL, 0);
    for (long end = microseconds() + 100000; !shared->hogging && microseconds() < end;) ;
    // Time for the daemon to answer.
    nap(700);
    go_first(false);
    make(script, DURING, attempt);
    bool was_forced = shared->done != (int)attempt && shared->hogging;
    shared->hog = 0;
    for (long end = microseconds() + 20000000; shared->done != (int)attempt; nap(20))
        if (microseconds() > end) give_up("attempt %ld: the victim's call does not end", attempt);
    while (shared->hogging) nap(20);
    make(script, AFTER, attempt);
    return was_forced;
}

int run_forced(const struct script *script)
{
    const struct step *victim = NULL;
    for (int i = 0; i < script->steps; i++)
        if (script->step[i].when == VICTIM) victim = &script->step[i];
    if (!victim || sysconf(_SC_NPROCESSORS_ONLN) < 2) give_up("no victim, or one processor only");
    for (int i = 0; i < script->servers; i++) keep_aside(script->serving[i]);
    pid_t processes[] = {start(NULL), start(victim)};
    stay_on(0, 0);
    long forced = 0, attempt = 1;
    for (; attempt <= script->attempts && shared->wrong < MAX_NOTES; attempt++) forced += try_once(script, attempt);
    for (int i = 0; i < 2; i++) {
        kill(processes[i], SIGKILL);
        waitpid(processes[i], NULL, 0);
    }
    printf("%ld attempts, %ld forced\n", attempt - 1, forced);
    return report();
}
