// The inner loops that `make bench` measures, so that the harness costs nothing while the clock runs.
//
//   aclfs-load [-u UID] prepare-names|prepare-data|prepare-many|prepare-objects DIR [COUNT]
//   aclfs-load [-u UID] OPERATION DIR SECONDS [WORKERS [COUNT]]     prints operations (or MiB) per second, and
//                                                                 how many there were, the unmeasured first included
//   aclfs-load [-u UID] run COMMAND...                             prints the seconds that it took
//   aclfs-load list                                                prints the operations
//   aclfs-load attacks                                             prints the attacks
//   aclfs-load attack NAME DIR ROUNDS SECONDS ATTACKER VICTIM SOCKET    as root; what one uid does to another (attack.c)
//
// -u: as this uid and gid, without other groups. DIR is walked from the directory above it, so that the permissions of
// DIR itself count. Whatever is started ends with its parent.
// Exit: 0 measured; 1 something could not be done, and is printed; 2 wrong use. `run` passes on the command's own.
#include "load.h"
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

_Noreturn void give_up(const char *what)
{
    fprintf(stderr, "aclfs-load: %s: %s\n", what, strerror(errno));
    exit(1);
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static _Noreturn void wrong_use(const char *message, const char *word)
{
    fprintf(stderr, "aclfs-load: %s%s\n", message, word);
    exit(2);
}

static void take_on(const char *word)
{
    char *end;
    unsigned long uid = strtoul(word, &end, 10);
    if (*end || !*word || uid >= UINT32_MAX) wrong_use("not a uid: ", word);
    if (geteuid() == uid) return;
    if (setgroups(0, NULL) || setgid((gid_t)uid) || setuid((uid_t)uid)) give_up("becoming the user");
}

static const struct operation *find(const char *name)
{
    const struct operation *tables[] = {name_operations, list_operations, data_operations};
    for (size_t table = 0; table < sizeof tables / sizeof *tables; table++)
        for (const struct operation *each = tables[table]; each->name; each++)
            if (!strcmp(each->name, name)) return each;
    return NULL;
}

static void list(void)
{
    const struct operation *tables[] = {name_operations, list_operations, data_operations};
    for (size_t table = 0; table < sizeof tables / sizeof *tables; table++)
        for (const struct operation *each = tables[table]; each->name; each++) puts(each->name);
}

/// Goes to the directory above and keeps the last name.
static const char *stand_above(char *directory)
{
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/') directory[--length] = 0;
    char *slash = strrchr(directory, '/');
    if (!slash || !slash[1]) wrong_use("needs an absolute directory below another one: ", directory);
    *slash = 0;
    if (chdir(slash == directory ? "/" : directory)) give_up(directory);
    return slash + 1;
}

int main(int count, char **words)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    words++, count--;
    if (count > 1 && !strcmp(words[0], "-u")) {
        take_on(words[1]);
        // A change of identity clears it.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        words += 2, count -= 2;
    }
    if (count == 1 && !strcmp(words[0], "list")) return list(), 0;
    if (count == 1 && !strcmp(words[0], "attacks")) return list_attacks(), 0;
    if (count < 2) wrong_use("OPERATION DIR SECONDS, prepare-… DIR or run COMMAND", "");
    umask(022);
    if (!strcmp(words[0], "attack")) {
        if (count != 8) wrong_use("attack NAME DIR ROUNDS SECONDS ATTACKER VICTIM SOCKET", "");
        run_attack(words[1], words[2], atoi(words[3]), atof(words[4]), (uid_t)atol(words[5]), (uid_t)atol(words[6]), words[7]);
        return 0;
    }
    if (!strcmp(words[0], "run")) {
        int status;
        double seconds = time_command(words + 1, &status);
        printf("%.6f\n", seconds);
        return status;
    }
    const char *top = stand_above(words[1]);
    long number = count > 2 ? atol(words[2]) : 0;
    if (!strcmp(words[0], "prepare-names")) return prepare_names(top), 0;
    if (!strcmp(words[0], "prepare-many")) return prepare_many(top, number), 0;
    if (!strcmp(words[0], "prepare-objects")) return prepare_objects(top, number), 0;
    if (!strcmp(words[0], "prepare-data")) return prepare_data(top, number), 0;
    const struct operation *operation = find(words[0]);
    if (!operation) wrong_use("no such operation: ", words[0]);
    double seconds = count > 2 ? atof(words[2]) : 0.5;
    int workers = count > 3 ? atoi(words[3]) : 1;
    if (seconds <= 0 || workers < 1 || workers > MAX_WORKERS) wrong_use("seconds and workers must be above 0", "");
    struct rate rate = measure(operation, top, seconds, workers, count > 4 ? atol(words[4]) : 0);
    printf("%.3f %.0f\n", rate.each_second, rate.all);
    return 0;
}
