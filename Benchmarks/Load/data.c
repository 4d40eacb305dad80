// Reading and writing. The file is opened before the clock starts: what is decided at open is not measured here.
#include "load.h"
#include <errno.h>
#include <sys/mman.h>

enum { BLOCK = 128 * 1024, PAGE = 4096 };

static void open_data(struct worker *worker, int flags)
{
    struct stat status;
    snprintf(spell(worker, 1), NAME_ROOM, "%s/data", worker->top);
    worker->descriptor = open(path_at(worker, 0), flags);
    if (worker->descriptor < 0 || fstat(worker->descriptor, &status)) give_up(path_at(worker, 0));
    worker->length = (size_t)status.st_size / BLOCK * BLOCK;
    if (!worker->length) errno = ENODATA, give_up(path_at(worker, 0));
    worker->data = malloc(BLOCK);
    if (!worker->data) give_up("memory");
    memset(worker->data, 'y', BLOCK);
}

static void open_to_read(struct worker *worker) { open_data(worker, O_RDONLY); }
static void open_to_write(struct worker *worker) { open_data(worker, O_RDWR); }

/// What was written must not reach the disk while somebody else is measured.
static void settle(struct worker *worker) { fdatasync(worker->descriptor); }

/// 64 blocks of 128 KiB, from where the last batch ended.
static double in_order(struct worker *worker, bool writes)
{
    for (int index = 0; index < 64; index++) {
        off_t offset = (off_t)(worker->turn++ * BLOCK % worker->length);
        ssize_t done = writes ? pwrite(worker->descriptor, worker->data, BLOCK, offset)
                              : pread(worker->descriptor, worker->data, BLOCK, offset);
        if (done != BLOCK) give_up("data");
    }
    return 64.0 * BLOCK / (1 << 20);
}

static double at_random(struct worker *worker, bool writes)
{
    for (int index = 0; index < 64; index++) {
        off_t offset = (off_t)(next_random(worker) % (worker->length / PAGE) * PAGE);
        ssize_t done = writes ? pwrite(worker->descriptor, worker->data, PAGE, offset)
                              : pread(worker->descriptor, worker->data, PAGE, offset);
        if (done != PAGE) give_up("data");
    }
    return 64;
}

static double read_in_order(struct worker *worker) { return in_order(worker, false); }
static double write_in_order(struct worker *worker) { return in_order(worker, true); }
static double read_at_random(struct worker *worker) { return at_random(worker, false); }
static double write_at_random(struct worker *worker) { return at_random(worker, true); }

static double write_byte(struct worker *worker)
{
    for (int index = 0; index < 64; index++)
        if (pwrite(worker->descriptor, worker->data, 1, (off_t)(worker->turn++ % PAGE)) != 1) give_up("data");
    return 64;
}

/// A mapping of its own each time, every page touched once.
static double touch_pages(struct worker *worker)
{
    volatile const char *mapped = mmap(NULL, worker->length, PROT_READ, MAP_SHARED, worker->descriptor, 0);
    if (mapped == MAP_FAILED) give_up("mmap");
    unsigned sum = 0;
    for (size_t offset = 0; offset < worker->length; offset += PAGE) sum += (unsigned char)mapped[offset];
    munmap((void *)mapped, worker->length);
    if (!sum) give_up("a data file of zeros");
    return (double)worker->length / (1 << 20);
}

const struct operation data_operations[] = {
    {"seq-read", open_to_read, read_in_order, NULL},
    {"seq-write", open_to_write, write_in_order, settle},
    {"rand-read", open_to_read, read_at_random, NULL},
    {"rand-write", open_to_write, write_at_random, settle},
    {"pwrite-1", open_to_write, write_byte, settle},
    {"mmap-read", open_to_read, touch_pages, NULL},
    {NULL, NULL, NULL, NULL},
};
