#ifndef ACLFS_CONFORMANCE_VECTORS_H
#define ACLFS_CONFORMANCE_VECTORS_H

#include <stddef.h>

// The bytes of Tests/Vectors/vectors.json.
const unsigned char *aclfs_vectors(void);
size_t aclfs_vectors_size(void);

#endif
