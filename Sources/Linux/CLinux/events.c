#include "clinux.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "procfd.h"

/* What may change the attributes of an object or the names in it. Opening counts: a store into a mapping, FS_IOC_SETFLAGS and
 * the access time of a read cause no event of their own, and mostly come with a descriptor (decision 25 has the exceptions). The
 * end of a mapping that was stored
 * into tells of a writer who came and went while callers opened the file, too. */
static const uint64_t of_object =
  FAN_ATTRIB | FAN_MODIFY | FAN_OPEN | FAN_CLOSE_WRITE | FAN_MOVE_SELF | FAN_DELETE_SELF;
static const uint64_t of_names = FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO;

_Static_assert(aclfs_EVENT_OPENED == FAN_OPEN, "FAN_OPEN");
_Static_assert(aclfs_EVENT_ATTRIBUTES == FAN_ATTRIB, "FAN_ATTRIB");
_Static_assert(aclfs_EVENT_NAMES == (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO), "names");
_Static_assert(aclfs_EVENT_REMOVED == FAN_DELETE_SELF, "FAN_DELETE_SELF");
_Static_assert(aclfs_EVENT_OVERFLOW == FAN_Q_OVERFLOW, "FAN_Q_OVERFLOW");

int32_t aclfs_events_open(void) {
  int events = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_UNLIMITED_MARKS | FAN_CLOEXEC | FAN_NONBLOCK, 0);
  return events < 0 ? -errno : events;
}

int32_t aclfs_events_mark(int32_t events, int32_t fd, int32_t is_directory, int32_t adds) {
  uint64_t mask = of_object | (is_directory ? of_names | FAN_ONDIR : 0);
  unsigned flags = adds ? FAN_MARK_ADD : FAN_MARK_REMOVE;
  /* The descriptor may be one of O_PATH, which the call does not take. */
  int from = aclfs_proc_directory();
  struct proc_path path = aclfs_proc_path(fd);
  int result = from >= 0 ? fanotify_mark(events, flags, mask, from, path.text + sizeof "/proc/self/fd/" - 1)
                         : fanotify_mark(events, flags, mask, -1, path.text);
  return result < 0 ? -errno : 0;
}

int32_t aclfs_events_flush(int32_t events) {
  return fanotify_mark(events, FAN_MARK_FLUSH, 0, -1, NULL) < 0 ? -errno : 0;
}

uint64_t aclfs_event_at(const uint8_t *bytes, uint64_t size, struct aclfs_event *out) {
  struct fanotify_event_metadata head;
  if (size < sizeof head)
    return 0;
  memcpy(&head, bytes, sizeof head);
  if (head.event_len < sizeof head || head.event_len > size)
    return 0;
  out->kinds = head.mask & ~(uint64_t)FAN_ONDIR;
  out->process = head.pid;
  out->handle_count = 0;
  /* Of another version nothing is certain, as after an overflow. */
  if (head.vers != FANOTIFY_METADATA_VERSION)
    out->kinds = FAN_Q_OVERFLOW;
  for (uint64_t at = head.metadata_len; at + sizeof(struct fanotify_event_info_header) <= head.event_len;) {
    struct fanotify_event_info_header info;
    memcpy(&info, bytes + at, sizeof info);
    if (info.len < sizeof info || at + info.len > head.event_len)
      break;
    const uint64_t handle_at = offsetof(struct fanotify_event_info_fid, handle);
    uint32_t handle[2];
    if (info.info_type == FAN_EVENT_INFO_TYPE_FID && info.len >= handle_at + sizeof handle) {
      memcpy(handle, bytes + at + handle_at, sizeof handle);
      if (handle[0] <= sizeof out->handle && handle_at + sizeof handle + handle[0] <= info.len) {
        out->handle_count = handle[0];
        out->handle_type = (int32_t)handle[1];
        memcpy(out->handle, bytes + at + handle_at + sizeof handle, handle[0]);
      }
    }
    at += info.len;
  }
  return head.event_len;
}

/* Not when it is created or truncated: what is not written to the end must not be read. */
int32_t aclfs_names_open(int32_t directory) {
  int events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (events < 0) return -errno;
  struct proc_path path = aclfs_proc_path(directory);
  const uint32_t mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;
  if (inotify_add_watch(events, path.text, mask) >= 0) return events;
  int error = errno;
  close(events);
  return -error;
}

int32_t aclfs_names_take(int32_t events, const char *name) {
  union {
    struct inotify_event first;
    char bytes[4096];
  } room;
  int32_t said = 0;
  for (ssize_t count; (count = read(events, room.bytes, sizeof room)) > 0;) {
    for (ssize_t at = 0; at + (ssize_t)sizeof room.first <= count;) {
      struct inotify_event event;
      memcpy(&event, room.bytes + at, sizeof event);
      const char *found = room.bytes + at + sizeof event;
      at += (ssize_t)(sizeof event + event.len);
      if (event.mask & IN_IGNORED) said |= aclfs_NAMES_ENDED;
      /* After lost events anything may have been written. */
      if (event.mask & IN_Q_OVERFLOW) said |= aclfs_NAME_WRITTEN;
      if (event.len == 0 || strcmp(found, name) != 0) continue;
      said |= event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO) ? aclfs_NAME_WRITTEN : aclfs_NAME_LOST;
    }
  }
  return said;
}
