#include "clinux.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

/* Linux 6.16; older headers do not have it. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* Fills an address; a path that does not fit is an error, never cut. */
static int32_t address_of(const char *path, struct sockaddr_un *address) {
  size_t length = strlen(path);
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (length >= sizeof address->sun_path) return -ENAMETOOLONG;
  memcpy(address->sun_path, path, length + 1);
  return 0;
}

int32_t aclfs_control_listen(const char *path, int32_t backlog) {
  struct sockaddr_un address;
  int32_t result = address_of(path, &address);
  if (result < 0) return result;
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  /* Accepted connections inherit it, those in the queue too. */
  aclfs_control_take_descriptors(fd, 0);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0666) < 0 ||
      listen(fd, backlog) < 0) {
    result = -errno;
    close(fd);
    return result;
  }
  return fd;
}

int32_t aclfs_control_accept(int32_t fd) {
  int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
  return client < 0 ? -errno : client;
}

int32_t aclfs_control_connect(const char *path, uint32_t milliseconds) {
  struct sockaddr_un address;
  int32_t result = address_of(path, &address);
  if (result < 0) return result;
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  /* Before a server can send one. */
  aclfs_control_take_descriptors(fd, 0);
  /* A stopped server accepts no connection; the timeout for sending limits connect as well. */
  result = aclfs_control_timeout(fd, milliseconds);
  if (result == 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) result = -errno;
  if (result < 0) {
    close(fd);
    return result;
  }
  return fd;
}

int32_t aclfs_control_peer(int32_t fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -errno;
  *pid = peer.pid;
  *uid = peer.uid;
  *gid = peer.gid;
  return 0;
}

int32_t aclfs_control_timeout(int32_t fd, uint32_t milliseconds) {
  struct timeval time = {.tv_sec = milliseconds / 1000, .tv_usec = (milliseconds % 1000) * 1000};
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) < 0) return -errno;
  if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) < 0) return -errno;
  return 0;
}

void aclfs_control_take_descriptors(int32_t fd, int32_t yes) {
  int value = yes;
  /* Older kernels lack the option. */
  setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value);
}

int64_t aclfs_control_receive(int32_t fd, void *buffer, uint64_t size) {
  /* Without a buffer for them the kernel discards descriptors in the message. Closing them here could wait for their
   * server. MSG_TRUNC returns the real length, so that a cut message is an error. */
  ssize_t count = recv(fd, buffer, size, MSG_TRUNC);
  if (count < 0) return -errno;
  return (uint64_t)count > size ? -EMSGSIZE : count;
}

int64_t aclfs_control_send(int32_t fd, const void *buffer, uint64_t size) {
  ssize_t count = send(fd, buffer, size, MSG_NOSIGNAL);
  return count < 0 ? -errno : count;
}

int64_t aclfs_control_send_with(int32_t fd, const void *buffer, uint64_t size, const int32_t *descriptors,
                                uint32_t count) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(ACLFS_CONTROL_DESCRIPTORS * sizeof(int))];
  } control = {0};
  if (count > ACLFS_CONTROL_DESCRIPTORS) return -EINVAL;
  struct iovec bytes = {.iov_base = (void *)buffer, .iov_len = size};
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control};
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

int64_t aclfs_control_receive_with(int32_t fd, void *buffer, uint64_t size, int32_t *descriptors, uint32_t *count) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(ACLFS_CONTROL_DESCRIPTORS * sizeof(int))];
  } control = {0};
  struct iovec bytes = {.iov_base = buffer, .iov_len = size};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t received = recvmsg(fd, &message, MSG_TRUNC | MSG_CMSG_CLOEXEC);
  *count = 0;
  if (received < 0) return -errno;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t have = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < have && *count < ACLFS_CONTROL_DESCRIPTORS; i++)
      memcpy(&descriptors[(*count)++], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
  }
  return (uint64_t)received > size ? -EMSGSIZE : received;
}

int32_t aclfs_control_shutdown(int32_t fd) { return shutdown(fd, SHUT_RDWR) < 0 ? -errno : 0; }
