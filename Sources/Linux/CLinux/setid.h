#pragma once

/* What the calling thread knows of its own CAP_FSETID (privilege.c). */
enum { aclfs_SET_ID_UNKNOWN, aclfs_SET_ID_HELD, aclfs_SET_ID_LOWERED };
extern _Thread_local int aclfs_set_id_state;
void aclfs_raise_set_id(void);

/* Before each call that may clear set-id bits of a file: of its data, its owner, its mode or its POSIX ACL. */
static inline void hold_set_id(void) {
  if (aclfs_set_id_state != aclfs_SET_ID_HELD) aclfs_raise_set_id();
}
