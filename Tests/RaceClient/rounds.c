// One taker, many agents.
#include "race.h"
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

// The state of the right in the lowest bits of the phase; the round stands above.
enum { NEITHER = 0, OPEN = 1, CLOSED = 2 };

static pid_t child[MAX_AGENTS];

static void end_children(int count)
{
    shared->stop = 1;
    for (int i = 0; i < count; i++) {
        int status;
        // Every call of an agent ends; what has not ended after this is stuck in the mount.
        for (int tries = 0; waitpid(child[i], &status, WNOHANG) == 0; tries++) {
            if (tries == 20000) give_up("agent %d does not end", i);
            nap(1000);
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2) give_up("agent %d could not run", i);
    }
}

static bool is_judged(const struct call *call) { return call->open != ANYTHING || call->closed != ANYTHING; }

static bool is_awaited(const struct agent *agent)
{
    bool any = false;
    for (int i = 0; i < agent->calls.count; i++) any |= is_judged(&agent->calls.at[i]);
    return any && !agent->is_bystander;
}

static void finish_phase(void)
{
    if (atomic_fetch_sub(&shared->waiting, 1) == 1)
        syscall(SYS_futex, &shared->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// Calls without pause. Once every judged call was made within one phase, the taker need not wait any longer.
static void act(const struct agent *agent, int number, bool counts)
{
    int all = 0, seen = 0;
    long phase_seen = 0, calls = 0, open = 0, closed = 0;
    for (int i = 0; i < agent->calls.count; i++) all |= is_judged(&agent->calls.at[i]) << i;
    while (!shared->stop) {
        for (int i = 0; i < agent->calls.count && !shared->stop; i++, calls++) {
            const struct call *call = &agent->calls.at[i];
            long before = shared->phase;
            int got = perform(call, number);
            long after = shared->phase;
            int state = (int)(before & 3);
            bool in_phase = before == after && state != NEITHER;
            int wanted = state == CLOSED ? call->closed : call->open;
            if ((in_phase || call->open == call->closed) && wanted != ANYTHING && got != wanted)
                take_note(&agent->who, call, before >> 2, state != CLOSED, got, wanted);
            if (!in_phase || !is_judged(call)) continue;
            if (state == OPEN) open++;
            else closed++;
            if (phase_seen != before) seen = 0, phase_seen = before;
            if (counts && seen != all && (seen |= 1 << i) == all) finish_phase();
        }
        nap(agent->pause);
    }
    shared->calls += calls;
    shared->open_checks += open;
    shared->closed_checks += closed;
}

static void start(const struct script *script, int index)
{
    const struct agent *agent = &script->agent[index];
    pid_t parent = getpid();
    child[index] = fork();
    if (child[index] < 0) give_up("fork: %s", strerror(errno));
    if (child[index]) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool awaited = is_awaited(agent), real_time = false;
    for (int i = 0; i < agent->calls.count; i++)
        real_time |= strcmp(agent->calls.at[i].word[0], "preempt") == 0;
    // The others are there to keep the caches warm.
    if (!awaited) setpriority(PRIO_PROCESS, 0, 10);
    if (!real_time) take_on(&agent->who);
    // PDEATHSIG is cleared by the change of identity.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    act(agent, index, awaited && script->rounds);
    _exit(0);
}

static void must(const struct script *script, const struct calls *calls, long round)
{
    for (int i = 0; i < calls->count; i++) {
        int failure = perform(&calls->at[i], round);
        if (!failure) continue;
        char text[160];
        describe(&calls->at[i], text, sizeof text);
        report();
        end_children(script->agents);
        give_up("round %ld: the taker's %s: %s", round, text, errno_word(failure));
    }
}

// Lets the agents act in one state until each has been judged in it; where only revocations or seconds count, not at all.
static void stand(const struct script *script, long round, int state, int awaited)
{
    shared->waiting = awaited;
    shared->phase = round << 2 | state;
    must(script, &script->then, round);
    if (script->rounds) {
        time_t start = time(NULL);
        for (int left; (left = shared->waiting) > 0 && shared->wrong < MAX_NOTES;) {
            struct timespec second = {.tv_sec = 1};
            syscall(SYS_futex, &shared->waiting, FUTEX_WAIT, left, &second, NULL, 0);
            if (time(NULL) - start > 60) {
                end_children(script->agents);
                give_up("round %ld: %d agents did not get to their calls within a minute", round, left);
            }
        }
    }
    shared->phase = round << 2 | NEITHER;
}

int run_rounds(const struct script *script)
{
    int awaited = 0;
    for (int i = 0; i < script->agents; i++) awaited += is_awaited(&script->agent[i]);
    if (!awaited) give_up("no agent has a call that is judged");
    for (int i = 0; i < script->agents; i++) start(script, i);
    take_on(&script->taker);
    must(script, &script->before, 0);
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    long round = 1;
    for (;; round++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        bool is_over = script->rounds ? round > script->rounds
            : script->revocations ? round > script->revocations
            : now.tv_sec - began.tv_sec >= script->seconds;
        if (is_over || shared->wrong >= MAX_NOTES) break;
        stand(script, round, OPEN, awaited);
        must(script, &script->take, round);
        stand(script, round, CLOSED, awaited);
        must(script, &script->give, round);
    }
    end_children(script->agents);
    printf("%ld rounds, %ld calls, judged: %ld granted, %ld taken away\n", round - 1, shared->calls,
        shared->open_checks, shared->closed_checks);
    return report();
}
