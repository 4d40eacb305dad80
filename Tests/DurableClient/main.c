// Makes one call that asks for durability, for tests that look at what is on the disk when it has returned.
//
//     aclfs-durable CALL FILE [append] [direct] [dsync | sync] [from=OTHER]
//
// The words are flags of open(2); the file is made if it is not there. CALL writes BYTES bytes `x` at the start, or at the end with `append`:
//     write                 by pwrite(2), or write(2) with `append`
//     rwf-dsync, rwf-sync   by pwritev2(2) with the flag
//     rwf-append            the same, after it has said `ready` and read a line; prints how long the file is then
//     fsync, fdatasync, range, syncfs     by pwrite(2), then the call (`range`: sync_file_range(2) that waits)
//     msync                 by a store into a mapping of the file, which is long enough already
//     aio                   by io_submit(2)
//     fallocate             makes the file so long
//     copy, splice, sendfile   from OTHER
//     none                  opens only
//
// Exit 0: done; 77: the call is not supported here; 1: it failed, said on standard error.

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 8192 };

#ifndef RWF_DSYNC
#define RWF_DSYNC 0x2
#define RWF_SYNC 0x4
#define RWF_APPEND 0x10
#endif

static void need(int done, const char *what)
{
    if (done)
        return;
    int error = errno;
    perror(what);
    exit(error == EOPNOTSUPP || error == ENOSYS ? 77 : 1);
}

static char *bytes(void)
{
    void *made = NULL;
    need(posix_memalign(&made, 4096, BYTES) == 0, "memory");
    return memset(made, 'x', BYTES);
}

static void submit(int fd, char *from)
{
    aio_context_t context = 0;
    struct iocb block = {
        .aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uint64_t)from, .aio_nbytes = BYTES };
    struct iocb *blocks[] = { &block };
    struct io_event event = { 0 };
    need(syscall(SYS_io_setup, 1, &context) == 0, "io_setup");
    need(syscall(SYS_io_submit, context, 1L, blocks) == 1, "io_submit");
    need(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL) == 1, "io_getevents");
    errno = event.res < 0 ? (int)-event.res : EIO;
    need(event.res == BYTES, "asynchronous write");
}

static void splice_all(int source, int fd)
{
    int ends[2];
    need(pipe(ends) == 0, "pipe");
    for (size_t left = BYTES; left > 0;) {
        ssize_t count = splice(source, NULL, ends[1], NULL, left, 0);
        need(count > 0, "splice");
        left -= (size_t)count;
        while (count > 0) {
            ssize_t out = splice(ends[0], NULL, fd, NULL, (size_t)count, 0);
            need(out > 0, "splice");
            count -= out;
        }
    }
}

int main(int count, char **words)
{
    need(count > 2 || (errno = EINVAL, 0), "usage");
    const char *call = words[1], *path = words[2], *other = NULL;
    int flags = O_CREAT | (strcmp(call, "msync") == 0 ? O_RDWR : O_WRONLY), appends = 0;
    for (int index = 3; index < count; index++) {
        const char *word = words[index];
        if (strcmp(word, "append") == 0)
            appends = 1, flags |= O_APPEND;
        else if (strcmp(word, "direct") == 0)
            flags |= O_DIRECT;
        else if (strcmp(word, "dsync") == 0)
            flags |= O_DSYNC;
        else if (strcmp(word, "sync") == 0)
            flags |= O_SYNC;
        else if (strncmp(word, "from=", 5) == 0)
            other = word + 5;
        else
            need((errno = EINVAL, 0), word);
    }
    int fd = open(path, flags, 0666), source = other ? open(other, O_RDONLY) : -1;
    need(fd >= 0, path);
    need(!other || source >= 0, other);
    char *from = bytes();
    struct iovec part = { from, BYTES };
    int flag = strcmp(call, "rwf-dsync") == 0  ? RWF_DSYNC
             : strcmp(call, "rwf-sync") == 0   ? RWF_SYNC
             : strcmp(call, "rwf-append") == 0 ? RWF_APPEND
                                               : 0;
    if (flag == RWF_APPEND) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    if (flag) {
        need(pwritev2(fd, &part, 1, 0, flag) == BYTES, call);
        struct stat status;
        if (flag == RWF_APPEND && fstat(fd, &status) == 0)
            printf("%lld\n", (long long)status.st_size);
    } else if (strcmp(call, "msync") == 0) {
        char *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        need(map != MAP_FAILED, "mmap");
        memset(map, 'x', BYTES);
        need(msync(map, BYTES, MS_SYNC) == 0, call);
    } else if (strcmp(call, "aio") == 0) {
        submit(fd, from);
    } else if (strcmp(call, "fallocate") == 0) {
        need(fallocate(fd, 0, 0, BYTES) == 0, call);
    } else if (strcmp(call, "copy") == 0) {
        need(copy_file_range(source, NULL, fd, NULL, BYTES, 0) == BYTES, call);
    } else if (strcmp(call, "splice") == 0) {
        splice_all(source, fd);
    } else if (strcmp(call, "sendfile") == 0) {
        need(sendfile(fd, source, NULL, BYTES) == BYTES, call);
    } else if (strcmp(call, "none") != 0) {
        need((appends ? write(fd, from, BYTES) : pwrite(fd, from, BYTES, 0)) == BYTES, "write");
        if (strcmp(call, "fsync") == 0)
            need(fsync(fd) == 0, call);
        else if (strcmp(call, "fdatasync") == 0)
            need(fdatasync(fd) == 0, call);
        else if (strcmp(call, "syncfs") == 0)
            need(syncfs(fd) == 0, call);
        else if (strcmp(call, "range") == 0)
            need(sync_file_range(fd, 0, BYTES, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0, call);
        else if (strcmp(call, "write") != 0)
            need((errno = EINVAL, 0), call);
    }
    return 0;
}
