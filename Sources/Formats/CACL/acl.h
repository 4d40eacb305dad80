#pragma once
#include <acl/libacl.h>
#include <sys/acl.h>
