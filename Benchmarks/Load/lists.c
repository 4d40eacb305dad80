// Operations on large directories and on many objects.
#include "load.h"
#include <dirent.h>

static void spell_many(struct worker *worker)
{
    snprintf(spell(worker, 1), NAME_ROOM, "%s/many", worker->top);
}

static double list(struct worker *worker, bool looks)
{
    const char *path = path_at(worker, 0);
    DIR *directory = opendir(path);
    if (!directory) give_up(path);
    struct stat status;
    double count = 0;
    for (struct dirent *entry; (entry = readdir(directory)); count++)
        if (looks && fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW)) give_up(entry->d_name);
    closedir(directory);
    return count;
}

static double list_names(struct worker *worker) { return list(worker, false); }
static double list_long(struct worker *worker) { return list(worker, true); }

static void spell_objects(struct worker *worker)
{
    if (worker->count <= 0) give_up("COUNT must be said");
    snprintf(spell(worker, 1), NAME_ROOM, "%s/objects", worker->top);
    worker->descriptor = open(path_at(worker, 0), O_RDONLY | O_DIRECTORY);
    if (worker->descriptor < 0) give_up(path_at(worker, 0));
}

static void object_name(char *name, size_t room, long index)
{
    snprintf(name, room, "d%03ld/f%03ld", index / 1000, index % 1000);
}

/// Opening reaches the server, however much the kernel has cached.
static double open_random(struct worker *worker)
{
    char name[32];
    for (int index = 0; index < 16; index++) {
        object_name(name, sizeof name, (long)(next_random(worker) % (uint64_t)worker->count));
        int file = openat(worker->descriptor, name, O_RDONLY);
        if (file < 0) give_up(name);
        close(file);
    }
    return 16;
}

static double walk_all(struct worker *worker)
{
    char name[32];
    struct stat status;
    for (long index = 0; index < worker->count; index++) {
        object_name(name, sizeof name, index);
        if (fstatat(worker->descriptor, name, &status, AT_SYMLINK_NOFOLLOW)) give_up(name);
    }
    return (double)worker->count;
}

const struct operation list_operations[] = {
    {"readdir", spell_many, list_names, NULL},
    {"ls-l", spell_many, list_long, NULL},
    {"open-random", spell_objects, open_random, NULL},
    {"walk-all", spell_objects, walk_all, NULL},
    {NULL, NULL, NULL, NULL},
};
