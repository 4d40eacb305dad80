#pragma once
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

enum { DEPTH = 8, DEEP_FILES = 64, FILES = 256, MISSING = 32, SMALL = 4096, MAX_WORKERS = 64, NAME_ROOM = 192 };

/// One process that repeats an operation. Its paths are spelt before the clock starts.
struct worker {
    int number;
    /// What the fixture's paths begin with: the name of its directory, seen from the one above.
    const char *top;
    /// Objects that a picking operation chooses from, or MiB of the data file.
    long count;
    uint64_t random;
    unsigned long turn;
    int descriptor;
    char *data;
    size_t length;
    char *paths;
};

struct operation {
    const char *name;
    /// May be NULL: nothing to open or spell.
    void (*begin)(struct worker *);
    /// A few calls, so that the clock costs nothing; how many operations (or MiB) they were.
    double (*batch)(struct worker *);
    /// May be NULL: what is owed to the disk, outside the measured time.
    void (*end)(struct worker *);
};

extern const struct operation name_operations[], list_operations[], data_operations[];

_Noreturn void give_up(const char *what);
double now(void);
uint64_t next_random(struct worker *worker);
const char *path_at(const struct worker *worker, long index);
/// Room for so many paths; each is then spelt by the caller.
char *spell(struct worker *worker, long count);

void write_file(const char *path, size_t bytes);
void make_directory(const char *path);
void deep_directory(char *path, size_t room, const char *top);
void prepare_names(const char *top);
void prepare_many(const char *top, long count);
void prepare_objects(const char *top, long count);
void prepare_data(const char *top, long mebibytes);

struct rate {
    double each_second;
    /// How many there were, those before the clock started included.
    double all;
};
struct rate measure(const struct operation *operation, const char *top, double seconds, int workers, long count);
void list_attacks(void);
void run_attack(const char *name, const char *directory, int rounds, double seconds, uid_t attacker, uid_t victim,
    const char *socket_path);
/// Seconds that a command takes from its start to its end; its exit status in `status`.
double time_command(char **words, int *status);
