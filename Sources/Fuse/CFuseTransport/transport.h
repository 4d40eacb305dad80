/* The parts of a transport. */
#ifndef ACLFS_TRANSPORT_TRANSPORT_H
#define ACLFS_TRANSPORT_TRANSPORT_H

#include "rings.h"
#include "shared.h"
#include "workers.h"

struct aclfs_transport {
	struct shared shared;
	struct workers workers;
	struct rings rings;
};

#endif
