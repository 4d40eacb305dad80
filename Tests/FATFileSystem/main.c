// A FUSE file system with the attributes of FAT, for tests on kernels without one: no extended attributes, owners, links or mode bits but the
// w bits, which are the read-only bit; FAT_IOCTL_GET_ATTRIBUTES and FAT_IOCTL_SET_ATTRIBUTES; a ctime that only writes move.
// usage: aclfs-fat DIRECTORY MOUNTPOINT    the files are those of DIRECTORY; a file's bits are those of its mode there: 0200 (inverted), 0001
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <linux/msdos_fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int top;
#define AT(path) ((path)[1] ? (path) + 1 : ".")
#define ANSWER(call) ((call) < 0 ? -errno : 0)

// The mode of a directory stays searchable for the daemon's user, so its hidden bit is the one of others.
static unsigned attributes_of(const struct stat *s) {
  return (S_ISDIR(s->st_mode) ? ATTR_DIR : ATTR_ARCH) | (s->st_mode & 0200 ? 0 : ATTR_RO) | (s->st_mode & 0001 ? ATTR_HIDDEN : 0);
}

static int get(const char *path, struct stat *out, struct fuse_file_info *file) {
  (void)file;
  if (fstatat(top, AT(path), out, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  unsigned bits = attributes_of(out);
  out->st_mode = (out->st_mode & S_IFMT) | (bits & ATTR_RO ? 0555 : 0755);
  out->st_uid = out->st_gid = 0;
  out->st_ctim = out->st_mtim;
  return 0;
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
                enum fuse_readdir_flags flags) {
  (void)offset, (void)file, (void)flags;
  int fd = openat(top, AT(path), O_RDONLY | O_DIRECTORY);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);
  if (!directory) return -errno;
  for (struct dirent *entry; (entry = readdir(directory));) {
    struct stat s = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
    fill(buffer, entry->d_name, &s, 0, 0);
  }
  closedir(directory);
  return 0;
}

static int opens(const char *path, struct fuse_file_info *file) {
  struct stat s;
  if (fstatat(top, AT(path), &s, 0) < 0) return -errno;
  int fd = openat(top, AT(path), file->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW));
  if (fd < 0) return -errno;
  file->fh = (uint64_t)fd;
  return 0;
}
static int creates(const char *path, mode_t mode, struct fuse_file_info *file) {
  (void)mode;
  int fd = openat(top, AT(path), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return -errno;
  file->fh = (uint64_t)fd;
  return 0;
}
static int closes(const char *path, struct fuse_file_info *file) { return (void)path, ANSWER(close((int)file->fh)); }
static int reads(const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *file) {
  (void)path;
  ssize_t count = pread((int)file->fh, buffer, size, offset);
  return count < 0 ? -errno : (int)count;
}
static int writes(const char *path, const char *buffer, size_t size, off_t offset, struct fuse_file_info *file) {
  (void)path;
  ssize_t count = pwrite((int)file->fh, buffer, size, offset);
  return count < 0 ? -errno : (int)count;
}
static int cuts(const char *path, off_t size, struct fuse_file_info *file) {
  if (file) return ANSWER(ftruncate((int)file->fh, size));
  int fd = openat(top, AT(path), O_WRONLY);
  if (fd < 0) return -errno;
  int answer = ANSWER(ftruncate(fd, size));
  close(fd);
  return answer;
}
static int makes(const char *path, mode_t mode) { return (void)mode, ANSWER(mkdirat(top, AT(path), 0700)); }
static int removes(const char *path) { return ANSWER(unlinkat(top, AT(path), 0)); }
static int removes_directory(const char *path) { return ANSWER(unlinkat(top, AT(path), AT_REMOVEDIR)); }
static int renames(const char *old, const char *new, unsigned flags) {
  return ANSWER(renameat2(top, AT(old), top, AT(new), flags));
}
static int times(const char *path, const struct timespec tv[2], struct fuse_file_info *file) {
  (void)file;
  return ANSWER(utimensat(top, AT(path), tv, AT_SYMLINK_NOFOLLOW));
}
static int owners(const char *path, uid_t user, gid_t group, struct fuse_file_info *file) {
  (void)path, (void)file;
  return (user == 0 || user == (uid_t)-1) && (group == 0 || group == (gid_t)-1) ? 0 : -EPERM;
}
// As vfat with umask=022: the r and x bits are all there, the w bits all or none.
static int modes(const char *path, mode_t mode, struct fuse_file_info *file) {
  (void)file;
  struct stat s;
  if (fstatat(top, AT(path), &s, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  if ((mode & 07555) != 0555) return -EPERM;
  return ANSWER(fchmodat(top, AT(path), (s.st_mode & 0777 & ~0200u) | (mode & 0200), 0));
}

static int controls(const char *path, unsigned command, void *argument, struct fuse_file_info *file, unsigned flags, void *data) {
  (void)argument, (void)file, (void)flags;
  struct stat s;
  if (fstatat(top, AT(path), &s, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  if (command == (unsigned)FAT_IOCTL_GET_ATTRIBUTES) {
    *(__u32 *)data = attributes_of(&s);
    return 0;
  }
  if (command != (unsigned)FAT_IOCTL_SET_ATTRIBUTES) return -ENOTTY;
  __u32 bits = *(__u32 *)data;
  // The root has no entry of a directory that could hold them.
  if (!path[1] && bits != ATTR_DIR) return -EINVAL;
  return ANSWER(fchmodat(top, AT(path), (s.st_mode & 0700 & ~0200u) | (bits & ATTR_RO ? 0 : 0200) | (bits & ATTR_HIDDEN ? 1 : 0), 0));
}

static void *begins(struct fuse_conn_info *connection, struct fuse_config *configuration) {
  (void)connection;
  configuration->use_ino = 1;
  // Changes from elsewhere are seen, as on a file system of the kernel.
  configuration->attr_timeout = configuration->entry_timeout = configuration->negative_timeout = 0;
  return NULL;
}

int main(int count, char **words) {
  if (count != 3 || (top = open(words[1], O_PATH | O_DIRECTORY)) < 0) return 2;
  static const struct fuse_operations operations = {
      .getattr = get, .readdir = list, .open = opens, .create = creates, .release = closes, .read = reads, .write = writes,
      .truncate = cuts, .mkdir = makes, .unlink = removes, .rmdir = removes_directory, .rename = renames, .utimens = times,
      .chmod = modes, .chown = owners, .ioctl = controls, .init = begins};
  char *arguments[] = {words[0], "-o", "allow_other,default_permissions", words[2], NULL};
  return fuse_main(4, arguments, &operations, NULL);
}
