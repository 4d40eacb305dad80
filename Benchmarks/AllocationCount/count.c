// Counts allocations by standing in front of the allocator of the C library.
#include "allocation_count.h"
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static _Thread_local uint64_t allocations;

uint64_t aclfs_allocations(void) { return allocations; }
uint64_t aclfs_opaque(uint64_t value) { return value; }

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (!(*memory = memalign(alignment, size))) return ENOMEM;
    return 0;
}

void free(void *memory) { __libc_free(memory); }
