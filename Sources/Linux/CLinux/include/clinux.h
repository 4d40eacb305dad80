#ifndef ACLFS_CLINUX_H
#define ACLFS_CLINUX_H

/* The part of the C library beyond POSIX that Swift uses. Only fixed-width types and own structs are in this header:
 * Swift cannot import one that needs _GNU_SOURCE beside its own view of glibc.  Each function returns a value or
 * -errno, never the global errno, which the Swift runtime may change between the call and the test. Lengths are in
 * bytes. */

#include <stdint.h>

#pragma clang assume_nonnull begin

/* --- Constants: static, so that Swift folds them; clinux.c asserts that they are the platform's. --- */

#if defined(__x86_64__)
static const int32_t aclfs_O_DIRECT = 0x4000;
static const int32_t aclfs_O_DIRECTORY = 0x10000;
static const int32_t aclfs_O_NOFOLLOW = 0x20000;
static const int32_t aclfs_O_TMPFILE = 0x410000;
#elif defined(__aarch64__)
static const int32_t aclfs_O_DIRECT = 0x10000;
static const int32_t aclfs_O_DIRECTORY = 0x4000;
static const int32_t aclfs_O_NOFOLLOW = 0x8000;
static const int32_t aclfs_O_TMPFILE = 0x404000;
#else
#error "the flag values of this architecture are not known"
#endif
static const int32_t aclfs_O_RDONLY = 0;
static const int32_t aclfs_O_WRONLY = 1;
static const int32_t aclfs_O_RDWR = 2;
static const int32_t aclfs_O_ACCMODE = 3;
static const int32_t aclfs_O_CREAT = 0x40;
static const int32_t aclfs_O_EXCL = 0x80;
static const int32_t aclfs_O_NOCTTY = 0x100;
static const int32_t aclfs_O_TRUNC = 0x200;
static const int32_t aclfs_O_APPEND = 0x400;
static const int32_t aclfs_O_NONBLOCK = 0x800;
static const int32_t aclfs_O_DSYNC = 0x1000;
static const int32_t aclfs_O_SYNC = 0x101000;
static const int32_t aclfs_O_NOATIME = 0x40000;
static const int32_t aclfs_O_CLOEXEC = 0x80000;
static const int32_t aclfs_O_PATH = 0x200000;

static const int32_t aclfs_AT_FDCWD = -100;
static const int32_t aclfs_AT_SYMLINK_NOFOLLOW = 0x100;
static const int32_t aclfs_AT_REMOVEDIR = 0x200;
static const int32_t aclfs_AT_NO_AUTOMOUNT = 0x800;
static const int32_t aclfs_AT_EMPTY_PATH = 0x1000;
static const int32_t aclfs_AT_STATX_FORCE_SYNC = 0x2000;
static const int32_t aclfs_AT_STATX_DONT_SYNC = 0x4000;

static const uint32_t aclfs_RENAME_NOREPLACE = 1;
static const uint32_t aclfs_RENAME_EXCHANGE = 2;
static const uint32_t aclfs_RENAME_WHITEOUT = 4;

static const int32_t aclfs_FALLOC_KEEP_SIZE = 0x01;
static const int32_t aclfs_FALLOC_PUNCH_HOLE = 0x02;
static const int32_t aclfs_FALLOC_ZERO_RANGE = 0x10;

static const uint32_t aclfs_S_IFMT = 0170000;
static const uint32_t aclfs_S_IFSOCK = 0140000;
static const uint32_t aclfs_S_IFLNK = 0120000;
static const uint32_t aclfs_S_IFREG = 0100000;
static const uint32_t aclfs_S_IFBLK = 0060000;
static const uint32_t aclfs_S_IFDIR = 0040000;
static const uint32_t aclfs_S_IFCHR = 0020000;
static const uint32_t aclfs_S_IFIFO = 0010000;

static const int32_t aclfs_SEEK_SET = 0;
static const int32_t aclfs_SEEK_CUR = 1;
static const int32_t aclfs_SEEK_END = 2;
static const int32_t aclfs_SEEK_DATA = 3;
static const int32_t aclfs_SEEK_HOLE = 4;

static const int32_t aclfs_XATTR_CREATE = 1;
static const int32_t aclfs_XATTR_REPLACE = 2;

static const uint32_t aclfs_STATX_BASIC_STATS = 0x07ff;
static const uint32_t aclfs_STATX_BTIME = 0x0800;
static const uint32_t aclfs_STATX_MNT_ID = 0x1000;
static const uint32_t aclfs_STATX_CTIME = 0x0080;

static const uint64_t aclfs_MS_RDONLY = 0x1;
static const uint64_t aclfs_MS_NOSUID = 0x2;
static const uint64_t aclfs_MS_NODEV = 0x4;
static const uint64_t aclfs_MS_NOEXEC = 0x8;
static const uint64_t aclfs_MS_SYNCHRONOUS = 0x10;
static const uint64_t aclfs_MS_REMOUNT = 0x20;
static const uint64_t aclfs_MS_DIRSYNC = 0x80;
static const uint64_t aclfs_MS_NOATIME = 0x400;
static const uint64_t aclfs_MS_NODIRATIME = 0x800;
static const uint64_t aclfs_MS_BIND = 0x1000;
static const uint64_t aclfs_MS_MOVE = 0x2000;
static const uint64_t aclfs_MS_REC = 0x4000;
static const uint64_t aclfs_MS_PRIVATE = 0x40000;
static const uint64_t aclfs_MS_RELATIME = 0x200000;
static const uint64_t aclfs_MS_STRICTATIME = 0x1000000;
static const uint64_t aclfs_MS_NOSYMFOLLOW = 0x100;

static const int32_t aclfs_MNT_FORCE = 1;
static const int32_t aclfs_MNT_DETACH = 2;
static const int32_t aclfs_UMOUNT_NOFOLLOW = 8;

static const uint32_t aclfs_FS_IMMUTABLE_FL = 0x10;
static const uint32_t aclfs_FS_APPEND_FL = 0x20;
static const uint32_t aclfs_FS_NODUMP_FL = 0x40;
static const uint32_t aclfs_FS_XFLAG_IMMUTABLE = 0x08;
static const uint32_t aclfs_FS_XFLAG_APPEND = 0x10;
static const uint32_t aclfs_FS_XFLAG_NODUMP = 0x80;

/* --- Objects by descriptor and name --- */

struct aclfs_status {
  uint64_t device, rdev; /* major << 32 | minor */
  uint64_t inode, size, blocks, attributes, attributes_mask, mount_id;
  int64_t atime_sec, mtime_sec, ctime_sec, btime_sec;
  uint32_t atime_nsec, mtime_nsec, ctime_nsec, btime_nsec;
  uint32_t mask, mode, links, uid, gid, block_size;
};

int32_t aclfs_openat(int32_t dir, const char *name, int32_t flags, uint32_t mode);
/* Follows no symlink, no `..` and no mount point. */
int32_t aclfs_open_beneath(int32_t dir, const char *name, int32_t flags);
/* Opens the object of any descriptor again. The name in /proc is built on the stack. */
int32_t aclfs_reopen(int32_t fd, int32_t flags);
int32_t aclfs_dup(int32_t fd);
int32_t aclfs_memory_file(const char *name);
/* A pipe with ends that do not block and are closed on exec; ends[0] is for reading. */
int32_t aclfs_wake_pipe(int32_t *ends);
int32_t aclfs_name_to_handle(int32_t dir, const char *name, int32_t flags, int32_t *type, uint8_t *bytes,
                             uint32_t *count);
int32_t aclfs_open_by_handle(int32_t mount_fd, int32_t type, const uint8_t *bytes, uint32_t count,
                             int32_t flags);
int32_t aclfs_statx(int32_t dir, const char *name, int32_t flags, uint32_t mask, struct aclfs_status *out);
int32_t aclfs_mkdirat(int32_t dir, const char *name, uint32_t mode);
int32_t aclfs_mknodat(int32_t dir, const char *name, uint32_t mode, uint64_t device);
int32_t aclfs_symlinkat(const char *target, int32_t dir, const char *name);
int32_t aclfs_linkat(int32_t dir, const char *name, int32_t new_dir, const char *new_name, int32_t flags);
/* Links the object of a descriptor, with the capability (AT_EMPTY_PATH) or without it (/proc). */
int32_t aclfs_link_descriptor(int32_t fd, int32_t new_dir, const char *new_name);
int32_t aclfs_unlinkat(int32_t dir, const char *name, int32_t flags);
int32_t aclfs_renameat2(int32_t dir, const char *name, int32_t new_dir, const char *new_name, uint32_t flags);
int64_t aclfs_readlinkat(int32_t dir, const char *name, void *_Nullable buffer, uint64_t size);
int32_t aclfs_chmod(int32_t fd, uint32_t mode);
int32_t aclfs_chown(int32_t fd, uint32_t uid, uint32_t gid);
/* Of an object that has no set-id bits, as one that was just made. */
int32_t aclfs_chown_new(int32_t fd, uint32_t uid, uint32_t gid);
/* atime and mtime, as for utimensat(2), with UTIME_NOW and UTIME_OMIT. */
int32_t aclfs_utimens(int32_t fd, const int64_t *sec, const int64_t *nsec);
static const int64_t aclfs_UTIME_NOW = 0x3fffffff;
static const int64_t aclfs_UTIME_OMIT = 0x3ffffffe;

/* A detached copy of the descriptor's mount without the mounts below it (O_PATH). Needs CAP_SYS_ADMIN. */
int32_t aclfs_clone_mount(int32_t fd);
/* Sets the access times of a detached mount and makes it private. files: -1 = as they are, 0 = relatime, 1 =
 * noatime, 2 = strictatime. */
int32_t aclfs_set_access_times(int32_t mount, int32_t files, int32_t leaves_directories);
/* Attaches a detached mount beneath the topmost mount on a path. -EINVAL before Linux 6.5. */
int32_t aclfs_attach_beneath(int32_t mount, const char *place);
/* umount2(2) of the mount whose root the descriptor is open on (O_PATH is enough), also beneath another mount. */
int32_t aclfs_umount_of(int32_t fd, int32_t flags);
/* Closes every descriptor from `first` on. */
int32_t aclfs_close_range(uint32_t first, uint32_t last);
/* setns(2) into a mount namespace. Call it before any thread is started. */
int32_t aclfs_enter_mount_namespace(int32_t fd);

/* --- Data --- */

/* Whether any process has the regular file open for writing, or mapped through such a descriptor: 1, 0 or -errno. */
int32_t aclfs_is_open_for_writing(int32_t fd);
/* A descriptor with a read lease on the regular file: until it is closed, who opens the file for writing or truncates it waits.
   -EAGAIN if a process has it open for writing. Not for a process that itself opens such files for writing. */
int32_t aclfs_keep_from_writing(int32_t fd);
int32_t aclfs_ftruncate(int32_t fd, int64_t size);
int32_t aclfs_truncate(int32_t fd, int64_t size);
int32_t aclfs_fallocate(int32_t fd, int32_t mode, int64_t offset, int64_t length);
int32_t aclfs_drop_cached(int32_t fd, int64_t offset, int64_t length);
int64_t aclfs_lseek(int32_t fd, int64_t offset, int32_t whence);
int64_t aclfs_pread(int32_t fd, void *_Nullable buffer, uint64_t size, int64_t offset);
int64_t aclfs_pwrite(int32_t fd, const void *_Nullable buffer, uint64_t size, int64_t offset);
int64_t aclfs_read(int32_t fd, void *_Nullable buffer, uint64_t size);
int64_t aclfs_write(int32_t fd, const void *_Nullable buffer, uint64_t size);
int64_t aclfs_copy_file_range(int32_t in, int64_t in_offset, int32_t out, int64_t out_offset, uint64_t length);
int32_t aclfs_fsync(int32_t fd);
int32_t aclfs_fdatasync(int32_t fd);
int32_t aclfs_syncfs(int32_t fd);

struct aclfs_fs_status {
  uint64_t type, block_size, fragment_size, blocks, blocks_free, blocks_available;
  uint64_t files, files_free, name_max, id, flags;
};
int32_t aclfs_fstatfs(int32_t fd, struct aclfs_fs_status *out);

/* --- Events of objects (fanotify(7)) --- */

static const uint64_t aclfs_EVENT_OPENED = 0x20, aclfs_EVENT_ATTRIBUTES = 0x4, aclfs_EVENT_NAMES = 0x3c0,
                      aclfs_EVENT_REMOVED = 0x400, aclfs_EVENT_OVERFLOW = 0x4000;

struct aclfs_event {
  uint64_t kinds;
  int32_t process; /* that caused it, as this process sees it; 0: of another pid namespace */
  int32_t handle_type;
  uint32_t handle_count; /* 0: the event names no object */
  uint8_t handle[128];
};

/* A descriptor of events that does not block. Needs CAP_SYS_ADMIN. -ENOSYS or -EINVAL before Linux 5.9. */
int32_t aclfs_events_open(void);
/* Adds or removes the object of a descriptor (O_PATH is enough). */
int32_t aclfs_events_mark(int32_t events, int32_t fd, int32_t is_directory, int32_t adds);
int32_t aclfs_events_flush(int32_t events);
/* Decodes the first event in the bytes of a read(2). Returns its length; 0: there is no whole event. */
uint64_t aclfs_event_at(const uint8_t *bytes, uint64_t size, struct aclfs_event *out);

/* --- Mount namespaces (namespaces.c) --- */

/* Step 0: the id of the mount namespace of a descriptor; 1, -1: a descriptor and the id of the next or previous one in the kernel's order
 * that the caller has CAP_SYS_ADMIN over. -ENOENT: there is none. -ENOTTY before Linux 6.12. */
int32_t aclfs_mount_namespace(int32_t from, int32_t step, uint64_t *id);
/* The owner of the user namespace that a mount namespace belongs to. */
int32_t aclfs_mount_namespace_owner(int32_t mounts, uint32_t *uid);
/* The ids of the mounts of a namespace behind `after` (0: from the first one), as many as there is room for. */
int64_t aclfs_list_mounts(uint64_t space, uint64_t after, uint64_t *ids, uint64_t count);
struct aclfs_mount_place {
  uint64_t parent; /* the id of the mount that it is attached to */
  uint64_t device; /* the major number in the upper 32 bits */
};
/* With `texts`: the mount's root in its file system, NUL, the path of its mount point, NUL. -ENOENT: there is no such mount. */
int32_t aclfs_place_of_mount(uint64_t space, uint64_t mount, struct aclfs_mount_place *out, char *_Nullable texts, uint64_t size);
/* A descriptor of the mounts that are attached and detached. -EINVAL before Linux 6.15. */
int32_t aclfs_mount_events_open(void);
/* Adds a namespace. The mark does not keep it alive. */
int32_t aclfs_mount_events_mark(int32_t events, int32_t space);
/* The mounts of the next events; 0: there are none. -EOVERFLOW: events were lost. */
int64_t aclfs_mount_events_take(int32_t events, uint64_t *ids, uint64_t count);

/* Names in one directory (inotify): a file of a name was written and closed, or got or lost the name. */
static const int32_t aclfs_NAME_WRITTEN = 1, aclfs_NAME_LOST = 2, aclfs_NAMES_ENDED = 4;
/* A descriptor of such events that does not block. */
int32_t aclfs_names_open(int32_t directory);
/* Takes all events that there are. Returns what they say of a name, as bits; ENDED: no more will come. */
int32_t aclfs_names_take(int32_t events, const char *name);

/* --- Directories: records of getdents64, laid out by the kernel --- */

int64_t aclfs_getdents(int32_t fd, void *_Nullable buffer, uint64_t size);
static const uint32_t aclfs_dirent_inode_at = 0, aclfs_dirent_next_at = 8, aclfs_dirent_length_at = 16,
                      aclfs_dirent_type_at = 18, aclfs_dirent_name_at = 19;

/* --- Extended attributes: of a real descriptor (f), of any descriptor through /proc (p), by path without following
 * a symlink (l), by directory and name (at), of a directory by any descriptor (d). --- */

int64_t aclfs_fgetxattr(int32_t fd, const char *name, void *_Nullable value, uint64_t size);
int64_t aclfs_pgetxattr(int32_t fd, const char *name, void *_Nullable value, uint64_t size);
int64_t aclfs_dgetxattr(int32_t fd, const char *name, void *_Nullable value, uint64_t size);
int64_t aclfs_lgetxattr(const char *path, const char *name, void *_Nullable value, uint64_t size);
int64_t aclfs_getxattrat(int32_t dir, const char *at, const char *name, void *_Nullable value, uint64_t size);
int32_t aclfs_fsetxattr(int32_t fd, const char *name, const void *_Nullable value, uint64_t size, int32_t flags);
int32_t aclfs_psetxattr(int32_t fd, const char *name, const void *_Nullable value, uint64_t size, int32_t flags);
int32_t aclfs_dsetxattr(int32_t fd, const char *name, const void *_Nullable value, uint64_t size, int32_t flags);
int32_t aclfs_lsetxattr(const char *path, const char *name, const void *_Nullable value, uint64_t size,
                        int32_t flags);
int64_t aclfs_flistxattr(int32_t fd, void *_Nullable list, uint64_t size);
int64_t aclfs_plistxattr(int32_t fd, void *_Nullable list, uint64_t size);
int64_t aclfs_llistxattr(const char *path, void *_Nullable list, uint64_t size);
int32_t aclfs_fremovexattr(int32_t fd, const char *name);
int32_t aclfs_premovexattr(int32_t fd, const char *name);
int32_t aclfs_lremovexattr(const char *path, const char *name);

/* --- The flag ioctls of ext4 and others --- */

struct aclfs_fsxattr {
  uint32_t flags, extent_size, extents, project, cow_extent_size;
};
int32_t aclfs_get_flags(int32_t fd, uint32_t *flags);
int32_t aclfs_set_flags(int32_t fd, uint32_t flags);
int32_t aclfs_get_fsxattr(int32_t fd, struct aclfs_fsxattr *out);
/* The attributes of FAT and exFAT. */
int32_t aclfs_get_fat_attributes(int32_t fd, uint32_t *attributes);
int32_t aclfs_set_fat_attributes(int32_t fd, uint32_t attributes);

/* --- Process --- */

int32_t aclfs_mount(const char *_Nullable source, const char *target, const char *_Nullable type, uint64_t flags,
                    const char *_Nullable data);
int32_t aclfs_umount(const char *target, int32_t flags);
int32_t aclfs_get_nofile(uint64_t *soft, uint64_t *hard);
int32_t aclfs_set_nofile(uint64_t soft, uint64_t hard);
int32_t aclfs_lift_file_size_limit(void);
void aclfs_end_without_backtrace(void);
int32_t aclfs_chdir(const char *path);
uint32_t aclfs_umask(uint32_t mask);
int32_t aclfs_gettid(void);
const char *aclfs_errno_name(int32_t code);
/* Writes a NUL-terminated message. */
void aclfs_errno_text(int32_t code, char *buffer, uint64_t size);
/* Names the calling thread; longer names are cut at the kernel's 15 bytes. */
void aclfs_name_thread(const char *name);
/* A lock for many readers or one writer, in turns: after a writer all readers that wait, after them the writer that has waited longest. A
 * pthread_rwlock_t lets one side wait as long as the other one comes again. */
struct aclfs_rwlock;
struct aclfs_rwlock *_Nullable aclfs_rwlock_new(void);
void aclfs_rwlock_free(struct aclfs_rwlock *lock);
void aclfs_rwlock_read(struct aclfs_rwlock *lock);
void aclfs_rwlock_read_end(struct aclfs_rwlock *lock);
void aclfs_rwlock_write(struct aclfs_rwlock *lock);
void aclfs_rwlock_write_end(struct aclfs_rwlock *lock);
/// Initializes a pthread_mutex_t that spins for a moment before it sleeps.
void aclfs_mutex_init(void *lock);
/* Locks a pthread_mutex_t, or returns -ETIMEDOUT after this time. */
int32_t aclfs_mutex_lock_within(void *lock, uint64_t nanoseconds);
/* The mark of the calling thread; NULL in a new thread. */
void *_Nullable aclfs_thread_mark(void);
void aclfs_set_thread_mark(void *_Nullable value);
/* The same for what decides which of its system calls fail; only in debug builds. */
void *_Nullable aclfs_thread_faults(void);
void aclfs_set_thread_faults(void *_Nullable value);
/* Lets the calling thread run on every processor that the first thread may run on. */
void aclfs_leave_processor(void);

/* Forks twice and leaves the terminal's session. Returns 1 in the original process, with the reading end of a pipe,
 * and 0 in the daemon, with the writing end. */
int32_t aclfs_fork_daemon(int32_t *pipe_end);
/* Points the descriptors `first` to 2 at /dev/null. */
int32_t aclfs_silence(int32_t first);

/* --- Control: a SOCK_SEQPACKET socket with a name, one message per packet (control.c) --- */

/* Binds, allows every user to connect and listens; the path must not exist. */
int32_t aclfs_control_listen(const char *path, int32_t backlog);
int32_t aclfs_control_accept(int32_t fd);
int32_t aclfs_control_connect(const char *path, uint32_t milliseconds);
/* The peer according to the kernel: the process that connected or, for a client, the one that listens. */
int32_t aclfs_control_peer(int32_t fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
/* The timeout of each receive and each send. */
int32_t aclfs_control_timeout(int32_t fd, uint32_t milliseconds);
/* Whether the peer may send descriptors. By default it may not; before Linux 6.16 it always may. */
void aclfs_control_take_descriptors(int32_t fd, int32_t yes);
/* One message without its descriptors; 0 at the end of the connection, -EMSGSIZE for one longer than the buffer. */
int64_t aclfs_control_receive(int32_t fd, void *buffer, uint64_t size);
int64_t aclfs_control_send(int32_t fd, const void *buffer, uint64_t size);
/* With at most ACLFS_CONTROL_DESCRIPTORS descriptors. Received ones are closed on exec and belong to the caller. */
#define ACLFS_CONTROL_DESCRIPTORS 3
int64_t aclfs_control_send_with(int32_t fd, const void *buffer, uint64_t size, const int32_t *descriptors,
                                uint32_t count);
int64_t aclfs_control_receive_with(int32_t fd, void *buffer, uint64_t size, int32_t *descriptors, uint32_t *count);
int32_t aclfs_control_shutdown(int32_t fd);

/* --- Privileges of the calling thread (privilege.c); new threads inherit them. --- */

static const int32_t aclfs_CAP_SYS_RESOURCE = 24;
static const int32_t aclfs_CAP_SETUID = 7;
static const int32_t aclfs_CAP_SETPCAP = 8;

/* Removes a capability from all five sets, for good. -EPERM without CAP_SETPCAP. */
int32_t aclfs_drop_capability(int32_t capability);
/* Whether the calling thread may use the capability now: 1 or 0. */
int32_t aclfs_has_capability(int32_t capability);
/* Changes of user ids keep the capabilities from now on. -EPERM without CAP_SETPCAP. */
int32_t aclfs_keep_capabilities(void);
/* Sets the user id for file systems and returns the one before. It does not report errors: call it again with
 * UINT32_MAX, which changes nothing. */
uint32_t aclfs_setfsuid(uint32_t uid);
/* Gives up CAP_FSETID until the next call that may need it. It changes nothing for who lacks it. */
int32_t aclfs_lower_set_id(void);
/* Leaves all supplementary groups. */
int32_t aclfs_leave_groups(void);
/* Takes on another identity: supplementary groups, then group ids, then user ids; the saved ids are the effective ones. */
int32_t aclfs_become(uint32_t uid, uint32_t gid, uint32_t real_uid, uint32_t real_gid, const uint32_t *groups, uint32_t count);

/* --- Confinement of a command (confine.c) --- */

static const int32_t aclfs_CLONE_NEWNS = 0x00020000, aclfs_CLONE_NEWIPC = 0x08000000,
                     aclfs_CLONE_NEWUSER = 0x10000000, aclfs_CLONE_NEWPID = 0x20000000;

/* unshare(2). Call it before any thread is started. */
int32_t aclfs_unshare(int32_t namespaces);
/* As aclfs_clone_mount, with the mounts below it. */
int32_t aclfs_clone_tree(int32_t fd);
/* Attaches a detached mount or copy onto the object of the second descriptor (O_PATH is enough). */
int32_t aclfs_attach_mount(int32_t mount, int32_t place);
/* A new detached tmpfs: writable, or empty and read-only. */
int32_t aclfs_small_mount(int32_t writable);
/* Forbids opening devices on this mount and all mounts below it. The descriptor is open on the mount's root. -ENOSYS
 * before Linux 5.12. */
int32_t aclfs_forbid_devices(int32_t mount);
/* Allows opening devices on this mount only. */
int32_t aclfs_allow_devices(int32_t mount);
/* fork(2). Call it before any thread is started. */
int32_t aclfs_fork(void);
/* The signal that the calling process gets when its parent ends; 0 = none. */
int32_t aclfs_end_with_parent(int32_t number);
/* Processes without capabilities can no longer trace the calling process or read its /proc directory. */
int32_t aclfs_hide_process(void);
/* Removes all capabilities, those of root at exec, and new privileges: for good. Needs CAP_SETPCAP. */
int32_t aclfs_give_up_privileges(void);
int32_t aclfs_new_session_keyring(void);
/* Installs a seccomp filter (requests.c): no typing into a terminal, no snapshots or deletions of subvolumes on
 * btrfs. Needs no_new_privs or CAP_SYS_ADMIN. */
int32_t aclfs_filter_requests(void);
/* A descriptor to poll and read blocked signals. */
int32_t aclfs_signal_descriptor(const int32_t *numbers, uint32_t count);
/* The number of the next signal; `code` as in sigaction(2): above 0 if the kernel sent the signal by itself. */
int32_t aclfs_next_signal(int32_t fd, int32_t *code);
/* F_GETFL. */
int32_t aclfs_descriptor_flags(int32_t fd);
/* A pidfd of the peer; -ENOPROTOOPT before Linux 6.5. */
int32_t aclfs_control_peer_process(int32_t fd);
/* Of a pidfd: 1 or 0. */
int32_t aclfs_is_process_alive(int32_t process);
/* A pidfd; -ENOSYS before Linux 5.3. */
int32_t aclfs_open_process(int32_t pid);
/* The directory of the kernel's FUSE connections (fusectl), where it is mounted, else of an own mount, which needs
 * CAP_SYS_ADMIN. */
int32_t aclfs_fuse_connections(void);
/* The user namespace of a pidfd's process, as a descriptor. Fails before Linux 6.11, and without access to the
 * process. */
int32_t aclfs_user_namespace(int32_t process);
/* The user namespace in which another one was made, as a descriptor. Fails for one that this process is not outside of. */
int32_t aclfs_namespace_parent(int32_t namespace);
/* The user who made a user namespace. */
int32_t aclfs_namespace_owner(int32_t namespace, uint32_t *uid);

#pragma clang assume_nonnull end

#endif
