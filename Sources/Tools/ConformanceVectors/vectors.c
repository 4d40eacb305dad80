#include "ConformanceVectors.h"

static const unsigned char vectors[] = {
#embed "../../../Tests/Vectors/vectors.json"
};

const unsigned char *aclfs_vectors(void) { return vectors; }
size_t aclfs_vectors_size(void) { return sizeof vectors; }
