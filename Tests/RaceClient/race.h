#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { MAX_CALLS = 16, MAX_AGENTS = 16, MAX_WORDS = 8, MAX_GROUPS = 32, MAX_NOTES = 16 };

/// What a call must give: 0, an errno, or nothing in particular.
enum { ANYTHING = -1 };

struct identity {
    uid_t uid;
    gid_t gid;
    gid_t groups[MAX_GROUPS];
    size_t count;
    bool may_regroup;
};

struct call {
    int words;
    char *word[MAX_WORDS];
    /// When the right is there, and when it has been taken away. A step has only the first.
    int open, closed;
};

struct calls {
    int count;
    struct call at[MAX_CALLS];
};

/// A process that makes its calls in a loop for as long as the race runs.
struct agent {
    struct identity who;
    long pause;
    /// Its calls are judged, and the taker does not wait for them.
    bool is_bystander;
    struct calls calls;
};

/// One call of a forced trace, in its order.
struct step {
    enum { BEFORE, VICTIM, DURING, AFTER } when;
    struct identity who;
    struct call call;
};

struct script {
    /// How long: rounds in which every agent is waited for; or so many rounds or seconds in which nobody is.
    long rounds, revocations, seconds, attempts;
    /// The daemons whose threads are kept away from the processor of a forced delay.
    pid_t serving[4];
    int servers;
    struct identity taker;
    struct calls before, take, give, then;
    int agents;
    struct agent agent[MAX_AGENTS];
    int steps;
    struct step step[MAX_CALLS];
};

/// What did not come as it must, kept for the report.
struct note {
    long round;
    uid_t uid;
    int open, got, wanted;
    char what[160];
};

/// What all processes see.
struct shared {
    /// Round and state of the right in one word, so that two equal reads mean that nothing changed between.
    atomic_long phase;
    atomic_int waiting, stop, notes, wrong;
    atomic_long calls, closed_checks, open_checks;
    struct note note[MAX_NOTES];
    /// Forced traces: the victim's and the hog's.
    atomic_int go, done, hog, hogging;
};

extern struct shared *shared;

void read_script(struct script *script);
/// The errno of the call, 0 if it succeeded. `number` stands for `@` in its paths.
int perform(const struct call *call, long number);
const char *errno_word(int number);
void describe(const struct call *call, char *text, size_t room);
void take_on(const struct identity *who);
/// Only the effective identity, so that the next one can follow.
void borrow(const struct identity *who);
void stay_on(pid_t pid, int cpu);
void nap(long microseconds);
void take_note(const struct identity *who, const struct call *call, long round, bool open, int got, int wanted);
int report(void);
int run_rounds(const struct script *script);
int run_forced(const struct script *script);
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
