#pragma once
#include <stdint.h>

/// How often this thread has asked for memory. Every malloc of the program is counted, those of the Swift runtime too,
/// because a program that is linked with this file defines malloc itself.
uint64_t aclfs_allocations(void);

/// The value again. The optimiser cannot see that, so it can neither hoist nor delete what depends on it.
uint64_t aclfs_opaque(uint64_t value);
