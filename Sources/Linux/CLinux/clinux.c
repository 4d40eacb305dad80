#include "clinux.h"

#include "procfd.h"
#include "setid.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/msdos_fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SAME(name) _Static_assert(aclfs_##name == name, #name)

/* The header has the values as constants that Swift can fold; here they are compared to the platform's. */
SAME(O_RDONLY); SAME(O_WRONLY); SAME(O_RDWR); SAME(O_ACCMODE); SAME(O_CREAT); SAME(O_EXCL); SAME(O_NOCTTY);
SAME(O_TRUNC); SAME(O_APPEND); SAME(O_NONBLOCK); SAME(O_DSYNC); SAME(O_SYNC); SAME(O_NOATIME); SAME(O_CLOEXEC);
SAME(O_PATH); SAME(O_DIRECT); SAME(O_DIRECTORY); SAME(O_NOFOLLOW); SAME(O_TMPFILE);
SAME(AT_FDCWD); SAME(AT_SYMLINK_NOFOLLOW); SAME(AT_REMOVEDIR); SAME(AT_NO_AUTOMOUNT);
SAME(AT_EMPTY_PATH); SAME(AT_STATX_FORCE_SYNC); SAME(AT_STATX_DONT_SYNC);
SAME(RENAME_NOREPLACE); SAME(RENAME_EXCHANGE); SAME(RENAME_WHITEOUT);
_Static_assert(aclfs_FALLOC_KEEP_SIZE == FALLOC_FL_KEEP_SIZE, "");
_Static_assert(aclfs_FALLOC_PUNCH_HOLE == FALLOC_FL_PUNCH_HOLE, "");
_Static_assert(aclfs_FALLOC_ZERO_RANGE == FALLOC_FL_ZERO_RANGE, "");
SAME(S_IFMT); SAME(S_IFSOCK); SAME(S_IFLNK); SAME(S_IFREG); SAME(S_IFBLK); SAME(S_IFDIR); SAME(S_IFCHR);
SAME(S_IFIFO);
SAME(SEEK_SET); SAME(SEEK_CUR); SAME(SEEK_END); SAME(SEEK_DATA); SAME(SEEK_HOLE);
SAME(XATTR_CREATE); SAME(XATTR_REPLACE);
SAME(STATX_BASIC_STATS); SAME(STATX_BTIME); SAME(STATX_MNT_ID); SAME(STATX_CTIME);
SAME(MS_RDONLY); SAME(MS_NOSUID); SAME(MS_NODEV); SAME(MS_NOEXEC); SAME(MS_SYNCHRONOUS); SAME(MS_REMOUNT);
SAME(MS_DIRSYNC); SAME(MS_NOATIME); SAME(MS_NODIRATIME); SAME(MS_BIND); SAME(MS_MOVE); SAME(MS_REC);
SAME(MS_PRIVATE); SAME(MS_RELATIME); SAME(MS_STRICTATIME);
/* Older headers do not name it. */
#ifdef MS_NOSYMFOLLOW
SAME(MS_NOSYMFOLLOW);
#endif
SAME(MNT_FORCE); SAME(MNT_DETACH); SAME(UMOUNT_NOFOLLOW);
SAME(FS_IMMUTABLE_FL); SAME(FS_APPEND_FL); SAME(FS_NODUMP_FL);
SAME(FS_XFLAG_IMMUTABLE); SAME(FS_XFLAG_APPEND); SAME(FS_XFLAG_NODUMP);
SAME(UTIME_NOW); SAME(UTIME_OMIT);

/* The record that getdents64 fills; no header of the C library names it. */
struct record {
  uint64_t inode;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[];
};
_Static_assert(offsetof(struct record, next) == aclfs_dirent_next_at, "");
_Static_assert(offsetof(struct record, length) == aclfs_dirent_length_at, "");
_Static_assert(offsetof(struct record, type) == aclfs_dirent_type_at, "");
_Static_assert(offsetof(struct record, name) == aclfs_dirent_name_at, "");

static inline int64_t answer(int64_t result) { return result < 0 ? -(int64_t)errno : result; }
#define ANSWER(call) ((int32_t)answer(call))


int32_t aclfs_openat(int32_t dir, const char *name, int32_t flags, uint32_t mode) {
  return ANSWER(openat(dir, name, flags | O_CLOEXEC, mode));
}
int32_t aclfs_open_beneath(int32_t dir, const char *name, int32_t flags) {
  struct open_how how = {
      .flags = (uint32_t)flags | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
  };
  return ANSWER(syscall(SYS_openat2, dir, name, &how, sizeof how));
}
int32_t aclfs_memory_file(const char *name) { return ANSWER(memfd_create(name, MFD_CLOEXEC)); }

int32_t aclfs_dup(int32_t fd) { return ANSWER(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

int32_t aclfs_wake_pipe(int32_t *ends) { return ANSWER(pipe2(ends, O_CLOEXEC | O_NONBLOCK)); }

union handle {
  struct file_handle handle;
  char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};
int32_t aclfs_name_to_handle(int32_t dir, const char *name, int32_t flags, int32_t *type, uint8_t *bytes,
                             uint32_t *count) {
  union handle h;
  int mount;
  h.handle.handle_bytes = MAX_HANDLE_SZ;
  if (name_to_handle_at(dir, name, &h.handle, &mount, flags) < 0) return -errno;
  *type = h.handle.handle_type;
  *count = h.handle.handle_bytes;
  memcpy(bytes, h.room + offsetof(struct file_handle, f_handle), h.handle.handle_bytes);
  return 0;
}
int32_t aclfs_open_by_handle(int32_t mount_fd, int32_t type, const uint8_t *bytes, uint32_t count,
                             int32_t flags) {
  union handle h;
  if (count > MAX_HANDLE_SZ) return -EINVAL;
  h.handle.handle_bytes = count;
  h.handle.handle_type = type;
  memcpy(h.room + offsetof(struct file_handle, f_handle), bytes, count);
  return ANSWER(open_by_handle_at(mount_fd, &h.handle, flags | O_CLOEXEC));
}

int32_t aclfs_statx(int32_t dir, const char *name, int32_t flags, uint32_t mask, struct aclfs_status *out) {
  struct statx s;
  if (statx(dir, name, flags, mask, &s) < 0) return -errno;
  *out = (struct aclfs_status){
      .device = (uint64_t)s.stx_dev_major << 32 | s.stx_dev_minor,
      .rdev = (uint64_t)s.stx_rdev_major << 32 | s.stx_rdev_minor,
      .inode = s.stx_ino,
      .size = s.stx_size,
      .blocks = s.stx_blocks,
      .attributes = s.stx_attributes,
      .attributes_mask = s.stx_attributes_mask,
      .mount_id = s.stx_mnt_id,
      .atime_sec = s.stx_atime.tv_sec,
      .mtime_sec = s.stx_mtime.tv_sec,
      .ctime_sec = s.stx_ctime.tv_sec,
      .btime_sec = s.stx_btime.tv_sec,
      .atime_nsec = s.stx_atime.tv_nsec,
      .mtime_nsec = s.stx_mtime.tv_nsec,
      .ctime_nsec = s.stx_ctime.tv_nsec,
      .btime_nsec = s.stx_btime.tv_nsec,
      .mask = s.stx_mask,
      .mode = s.stx_mode,
      .links = s.stx_nlink,
      .uid = s.stx_uid,
      .gid = s.stx_gid,
      .block_size = s.stx_blksize,
  };
  return 0;
}

int32_t aclfs_mkdirat(int32_t dir, const char *name, uint32_t mode) { return ANSWER(mkdirat(dir, name, mode)); }
int32_t aclfs_mknodat(int32_t dir, const char *name, uint32_t mode, uint64_t device) {
  return ANSWER(mknodat(dir, name, mode, makedev((uint32_t)(device >> 32), (uint32_t)device)));
}
int32_t aclfs_symlinkat(const char *target, int32_t dir, const char *name) {
  return ANSWER(symlinkat(target, dir, name));
}
int32_t aclfs_linkat(int32_t dir, const char *name, int32_t new_dir, const char *new_name, int32_t flags) {
  return ANSWER(linkat(dir, name, new_dir, new_name, flags));
}
int32_t aclfs_link_descriptor(int32_t fd, int32_t new_dir, const char *new_name) {
  if (linkat(fd, "", new_dir, new_name, AT_EMPTY_PATH) == 0) return 0;
  /* ENOENT is also how the kernel says that the capability is missing. */
  if (errno != ENOENT) return -errno;
  return ANSWER(linkat(AT_FDCWD, aclfs_proc_path(fd).text, new_dir, new_name, AT_SYMLINK_FOLLOW));
}
int32_t aclfs_unlinkat(int32_t dir, const char *name, int32_t flags) { return ANSWER(unlinkat(dir, name, flags)); }
int32_t aclfs_renameat2(int32_t dir, const char *name, int32_t new_dir, const char *new_name, uint32_t flags) {
  return ANSWER(renameat2(dir, name, new_dir, new_name, flags));
}
int64_t aclfs_readlinkat(int32_t dir, const char *name, void *buffer, uint64_t size) {
  return answer(readlinkat(dir, name, buffer, size));
}

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
int32_t aclfs_chmod(int32_t fd, uint32_t mode) {
  if (mode & S_ISGID) hold_set_id();
  if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOSYS) return -errno;
  /* Before fchmodat2 some file systems changed the mode of a symlink and reported an error: ask first. */
  struct statx s;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &s) < 0) return -errno;
  if (S_ISLNK(s.stx_mode)) return -EOPNOTSUPP;
  return ANSWER(chmod(aclfs_proc_path(fd).text, mode));
}
int32_t aclfs_chown(int32_t fd, uint32_t uid, uint32_t gid) {
  hold_set_id();
  return aclfs_chown_new(fd, uid, gid);
}
int32_t aclfs_chown_new(int32_t fd, uint32_t uid, uint32_t gid) {
  return ANSWER(fchownat(fd, "", uid, gid, AT_EMPTY_PATH));
}
int32_t aclfs_utimens(int32_t fd, const int64_t *sec, const int64_t *nsec) {
  const struct timespec times[2] = {{.tv_sec = sec[0], .tv_nsec = nsec[0]}, {.tv_sec = sec[1], .tv_nsec = nsec[1]}};
  if (utimensat(fd, "", times, AT_EMPTY_PATH) == 0) return 0;
  /* Kernels before 5.8 refuse the flag. */
  if (errno != EINVAL) return -errno;
  return ANSWER(utimensat(AT_FDCWD, aclfs_proc_path(fd).text, times, 0));
}

int32_t aclfs_ftruncate(int32_t fd, int64_t size) {
  hold_set_id();
  return ANSWER(ftruncate(fd, size));
}
int32_t aclfs_truncate(int32_t fd, int64_t size) {
  hold_set_id();
  return ANSWER(truncate(aclfs_proc_path(fd).text, size));
}
int32_t aclfs_fallocate(int32_t fd, int32_t mode, int64_t offset, int64_t length) {
  hold_set_id();
  return ANSWER(fallocate(fd, mode, offset, length));
}
int32_t aclfs_drop_cached(int32_t fd, int64_t offset, int64_t length) {
  return -posix_fadvise(fd, offset, length, POSIX_FADV_DONTNEED);
}
int64_t aclfs_lseek(int32_t fd, int64_t offset, int32_t whence) {
  /* A directory offset may have its top bit set; only -1 is a failure. */
  errno = 0;
  int64_t result = lseek(fd, offset, whence);
  return result == -1 && errno != 0 ? -(int64_t)errno : result;
}
int64_t aclfs_pread(int32_t fd, void *buffer, uint64_t size, int64_t offset) {
  return answer(pread(fd, buffer, size, offset));
}
int64_t aclfs_pwrite(int32_t fd, const void *buffer, uint64_t size, int64_t offset) {
  hold_set_id();
  return answer(pwrite(fd, buffer, size, offset));
}
int64_t aclfs_read(int32_t fd, void *buffer, uint64_t size) { return answer(read(fd, buffer, size)); }
int64_t aclfs_write(int32_t fd, const void *buffer, uint64_t size) {
  hold_set_id();
  return answer(write(fd, buffer, size));
}
int64_t aclfs_copy_file_range(int32_t in, int64_t in_offset, int32_t out, int64_t out_offset, uint64_t length) {
  hold_set_id();
  off_t from = in_offset, to = out_offset;
  return answer(copy_file_range(in, &from, out, &to, length, 0));
}
int32_t aclfs_fsync(int32_t fd) { return ANSWER(fsync(fd)); }
int32_t aclfs_fdatasync(int32_t fd) { return ANSWER(fdatasync(fd)); }
int32_t aclfs_syncfs(int32_t fd) { return ANSWER(syncfs(fd)); }

int32_t aclfs_fstatfs(int32_t fd, struct aclfs_fs_status *out) {
  struct statfs s;
  if (fstatfs(fd, &s) < 0) return -errno;
  uint32_t id[2];
  memcpy(id, &s.f_fsid, sizeof id);
  *out = (struct aclfs_fs_status){
      .type = (uint64_t)s.f_type,
      .block_size = (uint64_t)s.f_bsize,
      .fragment_size = (uint64_t)(s.f_frsize ? s.f_frsize : s.f_bsize),
      .blocks = s.f_blocks,
      .blocks_free = s.f_bfree,
      .blocks_available = s.f_bavail,
      .files = s.f_files,
      .files_free = s.f_ffree,
      .name_max = (uint64_t)s.f_namelen,
      .id = (uint64_t)id[1] << 32 | id[0],
      .flags = (uint64_t)s.f_flags,
  };
  return 0;
}
int64_t aclfs_getdents(int32_t fd, void *buffer, uint64_t size) {
  return answer(syscall(SYS_getdents64, fd, buffer, size));
}

int64_t aclfs_fgetxattr(int32_t fd, const char *name, void *value, uint64_t size) {
  return answer(fgetxattr(fd, name, value, size));
}
int64_t aclfs_pgetxattr(int32_t fd, const char *name, void *value, uint64_t size) {
  int64_t result = aclfs_proc_xattr(SYS_getxattrat, fd, name, value, size, 0);
  return result == -ENOSYS ? answer(getxattr(aclfs_proc_path(fd).text, name, value, size)) : result;
}
/* A caller without search permission can still use the descriptor itself. */
int64_t aclfs_dgetxattr(int32_t fd, const char *name, void *value, uint64_t size) {
  int64_t result = aclfs_xattr_at(SYS_getxattrat, fd, ".", name, value, size, 0);
  return result == -ENOSYS || result == -EACCES ? aclfs_pgetxattr(fd, name, value, size) : result;
}
int64_t aclfs_lgetxattr(const char *path, const char *name, void *value, uint64_t size) {
  return answer(lgetxattr(path, name, value, size));
}
int64_t aclfs_getxattrat(int32_t dir, const char *at, const char *name, void *value, uint64_t size) {
  struct {
    uint64_t value;
    uint32_t size, flags;
  } arguments = {.value = (uint64_t)(uintptr_t)value, .size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size};
  return answer(syscall(SYS_getxattrat, dir, at, AT_SYMLINK_NOFOLLOW, name, &arguments, sizeof arguments));
}
/* A list sets the mode, too. */
static void hold_set_id_for(const char *name) {
  if (strcmp(name, "system.posix_acl_access") == 0) hold_set_id();
}

int32_t aclfs_fsetxattr(int32_t fd, const char *name, const void *value, uint64_t size, int32_t flags) {
  hold_set_id_for(name);
  return ANSWER(fsetxattr(fd, name, value, size, flags));
}
int32_t aclfs_psetxattr(int32_t fd, const char *name, const void *value, uint64_t size, int32_t flags) {
  hold_set_id_for(name);
  int64_t result = aclfs_proc_xattr(SYS_setxattrat, fd, name, (void *)value, size, flags);
  return result == -ENOSYS ? ANSWER(setxattr(aclfs_proc_path(fd).text, name, value, size, flags)) : (int32_t)result;
}
int32_t aclfs_dsetxattr(int32_t fd, const char *name, const void *value, uint64_t size, int32_t flags) {
  hold_set_id_for(name);
  int64_t result = aclfs_xattr_at(SYS_setxattrat, fd, ".", name, (void *)value, size, flags);
  return result == -ENOSYS || result == -EACCES ? aclfs_psetxattr(fd, name, value, size, flags) : (int32_t)result;
}
int32_t aclfs_lsetxattr(const char *path, const char *name, const void *value, uint64_t size, int32_t flags) {
  hold_set_id_for(name);
  return ANSWER(lsetxattr(path, name, value, size, flags));
}
int64_t aclfs_flistxattr(int32_t fd, void *list, uint64_t size) { return answer(flistxattr(fd, list, size)); }
int64_t aclfs_plistxattr(int32_t fd, void *list, uint64_t size) {
  return answer(listxattr(aclfs_proc_path(fd).text, list, size));
}
int64_t aclfs_llistxattr(const char *path, void *list, uint64_t size) { return answer(llistxattr(path, list, size)); }
/* On overlayfs the removal of a list sets the mode, too. */
int32_t aclfs_fremovexattr(int32_t fd, const char *name) {
  hold_set_id_for(name);
  return ANSWER(fremovexattr(fd, name));
}
int32_t aclfs_premovexattr(int32_t fd, const char *name) {
  hold_set_id_for(name);
  return ANSWER(removexattr(aclfs_proc_path(fd).text, name));
}
int32_t aclfs_lremovexattr(const char *path, const char *name) {
  hold_set_id_for(name);
  return ANSWER(lremovexattr(path, name));
}

/* The kernel reads and writes an int here, whatever the size encoded in the request number. */
int32_t aclfs_get_flags(int32_t fd, uint32_t *flags) { return ANSWER(ioctl(fd, FS_IOC_GETFLAGS, flags)); }
int32_t aclfs_set_flags(int32_t fd, uint32_t flags) { return ANSWER(ioctl(fd, FS_IOC_SETFLAGS, &flags)); }
int32_t aclfs_get_fsxattr(int32_t fd, struct aclfs_fsxattr *out) {
  struct fsxattr x;
  if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0) return -errno;
  *out = (struct aclfs_fsxattr){x.fsx_xflags, x.fsx_extsize, x.fsx_nextents, x.fsx_projid, x.fsx_cowextsize};
  return 0;
}

int32_t aclfs_get_fat_attributes(int32_t fd, uint32_t *attributes) { return ANSWER(ioctl(fd, FAT_IOCTL_GET_ATTRIBUTES, attributes)); }
int32_t aclfs_set_fat_attributes(int32_t fd, uint32_t attributes) { return ANSWER(ioctl(fd, FAT_IOCTL_SET_ATTRIBUTES, &attributes)); }

int32_t aclfs_mount(const char *source, const char *target, const char *type, uint64_t flags, const char *data) {
  return ANSWER(mount(source, target, type, flags, data));
}
int32_t aclfs_umount(const char *target, int32_t flags) { return ANSWER(umount2(target, flags)); }
int32_t aclfs_get_nofile(uint64_t *soft, uint64_t *hard) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
  *soft = limit.rlim_cur;
  *hard = limit.rlim_max;
  return 0;
}
int32_t aclfs_set_nofile(uint64_t soft, uint64_t hard) {
  const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
  return ANSWER(setrlimit(RLIMIT_NOFILE, &limit));
}
int32_t aclfs_lift_file_size_limit(void) {
  struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_FSIZE, &limit) == 0) return 0;
  if (getrlimit(RLIMIT_FSIZE, &limit) < 0) return -errno;
  limit.rlim_cur = limit.rlim_max;
  return ANSWER(setrlimit(RLIMIT_FSIZE, &limit));
}
int32_t aclfs_chdir(const char *path) { return ANSWER(chdir(path)); }
uint32_t aclfs_umask(uint32_t mask) { return umask(mask); }
int32_t aclfs_gettid(void) { return (int32_t)syscall(SYS_gettid); }
const char *aclfs_errno_name(int32_t code) {
  const char *name = strerrorname_np(code);
  return name ? name : "";
}
void aclfs_errno_text(int32_t code, char *buffer, uint64_t size) {
  /* _GNU_SOURCE chooses the form that may return a constant instead of filling the buffer. */
  const char *text = strerror_r(code, buffer, size);
  if (text != buffer) snprintf(buffer, size, "%s", text);
}
void aclfs_name_thread(const char *name) {
  char cut[16];
  snprintf(cut, sizeof cut, "%.15s", name);
  pthread_setname_np(pthread_self(), cut);
}
void aclfs_mutex_init(void *lock) {
  /* The locks are held for a short time: spinning for a moment costs less than sleeping. */
  *(pthread_mutex_t *)lock = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
}

int32_t aclfs_fork_daemon(int32_t *pipe_end) {
  int ends[2];
  /* Text in stdio's buffers would be written twice. */
  fflush(NULL);
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  pid_t child = fork();
  if (child < 0) {
    int code = errno;
    close(ends[0]);
    close(ends[1]);
    return -code;
  }
  if (child > 0) {
    close(ends[1]);
    /* The process in between only forks; waiting for it leaves no zombie. */
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    *pipe_end = ends[0];
    return 1;
  }
  close(ends[0]);
  setsid();
  pid_t daemon = fork();
  if (daemon != 0) _exit(daemon < 0);
  *pipe_end = ends[1];
  return 0;
}
int32_t aclfs_silence(int32_t first) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return -errno;
  for (int fd = first; fd <= 2; fd++) {
    if (dup2(null, fd) < 0) {
      int code = errno;
      if (null > 2) close(null);
      return -code;
    }
  }
  if (null > 2) close(null);
  return 0;
}
