// What the operations work on:
//
//   deep/d1/…/d8/f00…f63     files below eight directories
//   files/f000…f255          4 KiB each, with the attribute user.bench
//   new/p0…p63/              one directory for each worker
//   many/e0000000…           empty files in one directory
//   objects/d000/f000…       empty files, a thousand to a directory
//   data                     for reading and writing
#include "load.h"
#include <errno.h>
#include <sys/xattr.h>

void write_file(const char *path, size_t bytes)
{
    static char block[SMALL];
    if (!block[0]) memset(block, 'x', sizeof block);
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (file < 0) give_up(path);
    if (bytes && write(file, block, bytes) != (ssize_t)bytes) give_up(path);
    if (close(file)) give_up(path);
}

void make_directory(const char *path)
{
    if (mkdir(path, 0755) && errno != EEXIST) give_up(path);
}

void deep_directory(char *path, size_t room, const char *top)
{
    int used = snprintf(path, room, "%s/deep", top);
    for (int level = 1; level <= DEPTH; level++) used += snprintf(path + used, room - (size_t)used, "/d%d", level);
}

void prepare_names(const char *top)
{
    char path[NAME_ROOM], deep[NAME_ROOM / 2];
    snprintf(path, sizeof path, "%s/deep", top);
    make_directory(path);
    for (int level = 1; level <= DEPTH; level++) {
        size_t used = strlen(path);
        snprintf(path + used, sizeof path - used, "/d%d", level);
        make_directory(path);
    }
    deep_directory(deep, sizeof deep, top);
    for (int index = 0; index < DEEP_FILES; index++) {
        snprintf(path, sizeof path, "%s/f%02d", deep, index);
        write_file(path, 100);
    }
    snprintf(path, sizeof path, "%s/files", top);
    make_directory(path);
    for (int index = 0; index < FILES; index++) {
        snprintf(path, sizeof path, "%s/files/f%03d", top, index);
        write_file(path, SMALL);
        // A file system without attributes fails in getxattr, where it is said.
        if (setxattr(path, "user.bench", "0123456789abcdef", 16, 0) && errno != ENOTSUP && errno != ENOSYS)
            give_up(path);
    }
    snprintf(path, sizeof path, "%s/new", top);
    make_directory(path);
    for (int index = 0; index < MAX_WORKERS; index++) {
        snprintf(path, sizeof path, "%s/new/p%d", top, index);
        make_directory(path);
    }
}

void prepare_many(const char *top, long count)
{
    char path[NAME_ROOM];
    snprintf(path, sizeof path, "%s/many", top);
    make_directory(path);
    for (long index = 0; index < count; index++) {
        snprintf(path, sizeof path, "%s/many/e%07ld", top, index);
        write_file(path, 0);
    }
}

void prepare_objects(const char *top, long count)
{
    char path[NAME_ROOM];
    snprintf(path, sizeof path, "%s/objects", top);
    make_directory(path);
    for (long index = 0; index < count; index++) {
        snprintf(path, sizeof path, "%s/objects/d%03ld", top, index / 1000);
        if (index % 1000 == 0) make_directory(path);
        size_t used = strlen(path);
        snprintf(path + used, sizeof path - used, "/f%03ld", index % 1000);
        write_file(path, 0);
    }
}

void prepare_data(const char *top, long mebibytes)
{
    char path[NAME_ROOM];
    snprintf(path, sizeof path, "%s/data", top);
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (file < 0) give_up(path);
    size_t length = 1 << 20;
    char *block = malloc(length);
    if (!block) give_up("memory");
    memset(block, 'x', length);
    for (long index = 0; index < mebibytes; index++)
        if (write(file, block, length) != (ssize_t)length) give_up(path);
    free(block);
    if (fsync(file) || close(file)) give_up(path);
}
