// Operations on names and attributes.
#include "load.h"
#include <errno.h>
#include <sys/xattr.h>

char *spell(struct worker *worker, long count)
{
    worker->paths = malloc((size_t)count * NAME_ROOM);
    if (!worker->paths) give_up("memory");
    return worker->paths;
}

const char *path_at(const struct worker *worker, long index) { return worker->paths + index * NAME_ROOM; }

uint64_t next_random(struct worker *worker)
{
    uint64_t value = worker->random;
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    return worker->random = value;
}

static void spell_deep(struct worker *worker)
{
    char deep[NAME_ROOM / 2], *paths = spell(worker, DEEP_FILES);
    deep_directory(deep, sizeof deep, worker->top);
    for (int index = 0; index < DEEP_FILES; index++)
        snprintf(paths + index * NAME_ROOM, NAME_ROOM, "%s/f%02d", deep, index);
}

static void spell_missing(struct worker *worker)
{
    char *paths = spell(worker, MISSING);
    for (int index = 0; index < MISSING; index++)
        snprintf(paths + index * NAME_ROOM, NAME_ROOM, "%s/files/none%d", worker->top, index);
}

static void spell_files(struct worker *worker)
{
    char *paths = spell(worker, FILES);
    for (int index = 0; index < FILES; index++)
        snprintf(paths + index * NAME_ROOM, NAME_ROOM, "%s/files/f%03d", worker->top, index);
}

/// Names of the worker's own, which do not exist.
static void spell_new(struct worker *worker)
{
    char *paths = spell(worker, MISSING);
    for (int index = 0; index < MISSING; index++)
        snprintf(paths + index * NAME_ROOM, NAME_ROOM, "%s/new/p%d/n%d-%d", worker->top, worker->number, (int)getpid(), index);
}

static void spell_renamed(struct worker *worker)
{
    spell_new(worker);
    write_file(path_at(worker, 0), 0);
}

static const char *next_path(struct worker *worker, unsigned long count)
{
    return path_at(worker, (long)(worker->turn++ % count));
}

static double look(struct worker *worker)
{
    struct stat status;
    for (int index = 0; index < DEEP_FILES; index++)
        if (lstat(path_at(worker, index), &status)) give_up(path_at(worker, index));
    return DEEP_FILES;
}

static double look_missing(struct worker *worker)
{
    struct stat status;
    for (int index = 0; index < MISSING; index++)
        if (!lstat(path_at(worker, index), &status) || errno != ENOENT) give_up("a name that must be missing");
    return MISSING;
}

static double open_close(struct worker *worker)
{
    for (int index = 0; index < 16; index++) {
        const char *path = next_path(worker, FILES);
        int file = open(path, O_RDONLY);
        if (file < 0) give_up(path);
        close(file);
    }
    return 16;
}

static double read_small(struct worker *worker)
{
    char block[SMALL * 2];
    for (int index = 0; index < 16; index++) {
        const char *path = next_path(worker, FILES);
        int file = open(path, O_RDONLY);
        if (file < 0 || read(file, block, sizeof block) != SMALL) give_up(path);
        close(file);
    }
    return 16;
}

static double create_sized(struct worker *worker, size_t bytes)
{
    for (int index = 0; index < 8; index++) {
        const char *path = next_path(worker, MISSING);
        write_file(path, bytes);
        if (unlink(path)) give_up(path);
    }
    return 8;
}

static double create_empty(struct worker *worker) { return create_sized(worker, 0); }
static double create_small(struct worker *worker) { return create_sized(worker, SMALL); }

static double make_remove(struct worker *worker)
{
    for (int index = 0; index < 8; index++) {
        const char *path = next_path(worker, MISSING);
        if (mkdir(path, 0755) || rmdir(path)) give_up(path);
    }
    return 8;
}

static double move(struct worker *worker)
{
    for (int index = 0; index < 8; index++, worker->turn++) {
        const char *from = path_at(worker, (long)(worker->turn % 2)), *to = path_at(worker, (long)((worker->turn + 1) % 2));
        if (rename(from, to)) give_up(from);
    }
    return 8;
}

static void remove_moved(struct worker *worker) { unlink(path_at(worker, (long)(worker->turn % 2))); }

static double change_mode(struct worker *worker)
{
    for (int index = 0; index < 16; index++) {
        mode_t mode = worker->turn / FILES % 2 ? 0644 : 0640;
        const char *path = next_path(worker, FILES);
        if (chmod(path, mode)) give_up(path);
    }
    return 16;
}

static double get_attribute(struct worker *worker)
{
    char value[64];
    for (int index = 0; index < 16; index++) {
        const char *path = next_path(worker, FILES);
        if (getxattr(path, "user.bench", value, sizeof value) < 0) give_up(path);
    }
    return 16;
}

const struct operation name_operations[] = {
    {"stat", spell_deep, look, NULL},
    {"stat-miss", spell_missing, look_missing, NULL},
    {"open", spell_files, open_close, NULL},
    {"readfile", spell_files, read_small, NULL},
    {"create", spell_new, create_empty, NULL},
    {"createwrite", spell_new, create_small, NULL},
    {"mkdir", spell_new, make_remove, NULL},
    {"rename", spell_renamed, move, remove_moved},
    {"chmod", spell_files, change_mode, NULL},
    {"getxattr", spell_files, get_attribute, NULL},
    {NULL, NULL, NULL, NULL},
};
