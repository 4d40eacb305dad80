#include "clinux.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From the kernel's interface: the headers of the oldest systems that this builds on lack these. */
#ifndef SYS_statmount
#define SYS_statmount 457
#endif
#ifndef SYS_listmount
#define SYS_listmount 458
#endif

struct namespace_info {
  uint32_t size, mounts;
  uint64_t id;
};

static const unsigned long of_namespace = 0xb7;
#define NAMESPACE_INFO _IOR(of_namespace, 10, struct namespace_info)
#define NAMESPACE_NEXT _IOR(of_namespace, 11, struct namespace_info)
#define NAMESPACE_PREVIOUS _IOR(of_namespace, 12, struct namespace_info)
#define NAMESPACE_USERS _IO(of_namespace, 1)
#define NAMESPACE_OWNER _IO(of_namespace, 4)

int32_t aclfs_mount_namespace(int32_t from, int32_t step, uint64_t *id) {
  struct namespace_info info = {.size = sizeof info};
  int result = ioctl(from, step == 0 ? NAMESPACE_INFO : step > 0 ? NAMESPACE_NEXT : NAMESPACE_PREVIOUS, &info);
  if (result < 0) return -errno;
  *id = info.id;
  return result;
}

int32_t aclfs_mount_namespace_owner(int32_t mounts, uint32_t *uid) {
  int users = ioctl(mounts, NAMESPACE_USERS);
  if (users < 0) return -errno;
  int result = ioctl(users, NAMESPACE_OWNER, uid) < 0 ? -errno : 0;
  close(users);
  return result;
}

struct mount_request {
  uint32_t size, spare;
  uint64_t mount, param, space;
};

int64_t aclfs_list_mounts(uint64_t space, uint64_t after, uint64_t *ids, uint64_t count) {
  const uint64_t all = ~(uint64_t)0;
  struct mount_request request = {.size = sizeof request, .mount = all, .param = after, .space = space};
  long result = syscall(SYS_listmount, &request, ids, (size_t)count, 0u);
  return result < 0 ? -errno : result;
}

struct mount_state {
  uint32_t size, options;
  uint64_t mask;
  uint32_t major, minor;
  uint64_t magic;
  uint32_t flags, type;
  uint64_t id, parent;
  uint32_t old_id, old_parent;
  uint64_t attributes, propagation, peers, master, from;
  uint32_t root, point;
  uint64_t rest[50];
  char text[8192 + 512];
};
_Static_assert(offsetof(struct mount_state, root) == 104 && offsetof(struct mount_state, text) == 512, "statmount");

int32_t aclfs_place_of_mount(uint64_t space, uint64_t mount, struct aclfs_mount_place *out, char *_Nullable texts, uint64_t size) {
  const uint64_t of_file_system = 1, of_mount = 2, of_root = 8, of_point = 16;
  uint64_t mask = of_file_system | of_mount | (texts ? of_root | of_point : 0);
  struct mount_request request = {.size = sizeof request, .mount = mount, .param = mask, .space = space};
  struct mount_state state;
  if (syscall(SYS_statmount, &request, &state, sizeof state, 0u) < 0) return -errno;
  if ((state.mask & mask) != mask) return -ENODATA;
  out->parent = state.parent;
  out->device = (uint64_t)state.major << 32 | state.minor;
  if (!texts) return 0;
  if (state.root >= sizeof state.text || state.point >= sizeof state.text) return -EIO;
  size_t root = strnlen(state.text + state.root, sizeof state.text - state.root);
  size_t point = strnlen(state.text + state.point, sizeof state.text - state.point);
  if (root + point + 2 > size) return -EOVERFLOW;
  memcpy(texts, state.text + state.root, root);
  texts[root] = 0;
  memcpy(texts + root + 1, state.text + state.point, point);
  texts[root + 1 + point] = 0;
  return 0;
}

int32_t aclfs_mount_events_open(void) {
  const unsigned of_mounts = 0x4000;
  int events = fanotify_init(FAN_CLASS_NOTIF | of_mounts | FAN_CLOEXEC | FAN_NONBLOCK, 0);
  return events < 0 ? -errno : events;
}

int32_t aclfs_mount_events_mark(int32_t events, int32_t space) {
  const unsigned of_namespaces = 0x110;
  const uint64_t attached_or_detached = 0x3000000;
  return fanotify_mark(events, FAN_MARK_ADD | of_namespaces, attached_or_detached, space, NULL) < 0 ? -errno : 0;
}

int64_t aclfs_mount_events_take(int32_t events, uint64_t *ids, uint64_t count) {
  const uint8_t of_mount = 7;
  struct {
    struct fanotify_event_info_header header;
    uint64_t id;
  } info;
  _Alignas(struct fanotify_event_metadata) uint8_t bytes[4096];
  /* Each has a mount, so no more come in one read than there is room for. */
  uint64_t room = count * (sizeof(struct fanotify_event_metadata) + sizeof info);
  ssize_t size = read(events, bytes, room < sizeof bytes ? room : sizeof bytes);
  if (size < 0) return errno == EAGAIN ? 0 : -errno;
  uint64_t found = 0;
  struct fanotify_event_metadata head;
  for (ssize_t at = 0; at + (ssize_t)sizeof head <= size; at += head.event_len) {
    memcpy(&head, bytes + at, sizeof head);
    if (head.event_len < sizeof head || head.event_len > size - at) return -EIO;
    if (head.vers != FANOTIFY_METADATA_VERSION || head.mask & FAN_Q_OVERFLOW) return -EOVERFLOW;
    if (head.metadata_len + sizeof info > head.event_len || found >= count) continue;
    memcpy(&info, bytes + at + head.metadata_len, sizeof info);
    if (info.header.info_type == of_mount) ids[found++] = info.id;
  }
  return (int64_t)found;
}
