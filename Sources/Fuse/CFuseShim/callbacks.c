#include "internal.h"

#include <string.h>
#include <sys/sysmacros.h>

/* ---- from the library's callbacks to the handler table ---- */

struct incoming {
	const struct aclfs_fuse_handlers *handlers;
	void *userdata;
	struct aclfs_fuse_request request;
	struct aclfs_fuse_caller caller;
};

static struct incoming receive(fuse_req_t req)
{
	aclfs_fuse_session *session = fuse_req_userdata(req);
	const struct fuse_ctx *context = fuse_req_ctx(req);
	atomic_fetch_add(&session->unanswered, 1);
	return (struct incoming){
		.handlers = &session->handlers,
		.userdata = session->userdata,
		.request = { .session = session,
			     .fuse_request = req,
			     .ring = fuse_thread.answering,
			     .unique = fuse_thread.message->unique,
			     .opcode = fuse_thread.message->opcode },
		.caller = { context->uid, context->gid, (uint32_t)context->pid, context->umask },
	};
}

#define DISPATCH(name, ...)                                                                                     \
	do {                                                                                                     \
		struct incoming dispatched = receive(req);                                                       \
		dispatched.handlers->name(dispatched.userdata, dispatched.request, dispatched.caller,            \
					  __VA_ARGS__);                                                          \
	} while (0)

/* The fixed part of the current message. */
static const void *fixed_part(void)
{
	return fuse_thread.message + 1;
}

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
	aclfs_fuse_session *session = userdata;
	const struct aclfs_fuse_configuration *configuration = &session->configuration;
	/* The kernel handles locks; without splicing every reply passes the transport's writev. */
	unsigned wanted = FUSE_CAP_DONT_MASK | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_PARALLEL_DIROPS |
			  FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO | FUSE_CAP_IOCTL_DIR | FUSE_CAP_AUTO_INVAL_DATA;
	if (configuration->readdirplus)
		wanted |= FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO;
	if (configuration->exported)
		wanted |= FUSE_CAP_EXPORT_SUPPORT;
	connection->want = wanted & connection->capable;
	connection->max_write = 1 << 20;
	if (configuration->max_background)
		connection->max_background = configuration->max_background;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	DISPATCH(lookup, parent, name);
}

static void on_forget(fuse_req_t req, fuse_ino_t node, uint64_t count)
{
	aclfs_fuse_session *session = fuse_req_userdata(req);
	session->handlers.forget(session->userdata, node, count);
	fuse_reply_none(req);
}

static void on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	aclfs_fuse_session *session = fuse_req_userdata(req);
	for (size_t i = 0; i < count; i++)
		session->handlers.forget(session->userdata, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void on_getattr(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	DISPATCH(getattr, node, fi != NULL, fi ? fi->fh : 0);
}

static void on_setattr(fuse_req_t req, fuse_ino_t node, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	/* The library removes unknown bits, KILL_SUIDGID among them. In the message it clears the bit for the handle,
	 * which it passes as `fi`. */
	(void)attr, (void)to_set;
	const struct wire_setattr_in *in = fixed_part();
	struct aclfs_fuse_setattr changes = {
		.valid = in->valid | (fi ? WIRE_SETATTR_HANDLE : 0),
		.mode = in->mode,
		.uid = in->uid,
		.gid = in->gid,
		.size = in->size,
		.handle = in->fh,
		.lock_owner = in->lock_owner,
		.atime = { (int64_t)in->atime, in->atimensec },
		.mtime = { (int64_t)in->mtime, in->mtimensec },
		.ctime = { (int64_t)in->ctime, in->ctimensec },
	};
	DISPATCH(setattr, node, &changes);
}

static void on_readlink(fuse_req_t req, fuse_ino_t node)
{
	DISPATCH(readlink, node);
}

static void on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	DISPATCH(mknod, parent, name, mode, (uint64_t)major(rdev) << 32 | minor(rdev));
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	DISPATCH(mkdir, parent, name, mode);
}

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	DISPATCH(unlink, parent, name);
}

static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	DISPATCH(rmdir, parent, name);
}

static void on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	DISPATCH(symlink, target, parent, name);
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		      const char *new_name, unsigned flags)
{
	DISPATCH(rename, parent, name, new_parent, new_name, flags);
}

static void on_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t new_parent, const char *new_name)
{
	DISPATCH(link, node, new_parent, new_name);
}

static void on_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	const struct wire_open_in *in = fixed_part();
	DISPATCH(open, node, fi->flags, in->open_flags & WIRE_OPEN_KILL_SUIDGID);
}

static void on_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *fi)
{
	DISPATCH(read, node, fi->fh, offset, size, fi->flags);
}

static void on_write(fuse_req_t req, fuse_ino_t node, const char *bytes, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	const struct wire_write_in *in = fixed_part();
	DISPATCH(write, node, fi->fh, offset, bytes, size, (int32_t)in->flags, in->write_flags, in->lock_owner);
}

static void on_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	DISPATCH(flush, node, fi->fh, fi->lock_owner);
}

static void on_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	DISPATCH(release, node, fi->fh, fi->flags, fi->lock_owner);
}

static void on_fsync(fuse_req_t req, fuse_ino_t node, int data_only, struct fuse_file_info *fi)
{
	DISPATCH(fsync, node, fi->fh, data_only != 0);
}

static void on_opendir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	DISPATCH(opendir, node, fi->flags);
}

static void on_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *fi)
{
	DISPATCH(readdir, node, fi->fh, offset, size);
}

static void on_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *fi)
{
	DISPATCH(readdirplus, node, fi->fh, offset, size);
}

static void on_releasedir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *fi)
{
	DISPATCH(releasedir, node, fi->fh, fi->flags);
}

static void on_fsyncdir(fuse_req_t req, fuse_ino_t node, int data_only, struct fuse_file_info *fi)
{
	DISPATCH(fsyncdir, node, fi->fh, data_only != 0);
}

static void on_statfs(fuse_req_t req, fuse_ino_t node)
{
	DISPATCH(statfs, node);
}

static void on_setxattr(fuse_req_t req, fuse_ino_t node, const char *name, const char *value, size_t size, int flags)
{
	DISPATCH(setxattr, node, name, value, size, flags);
}

static void on_getxattr(fuse_req_t req, fuse_ino_t node, const char *name, size_t size)
{
	DISPATCH(getxattr, node, name, size);
}

static void on_listxattr(fuse_req_t req, fuse_ino_t node, size_t size)
{
	DISPATCH(listxattr, node, size);
}

static void on_removexattr(fuse_req_t req, fuse_ino_t node, const char *name)
{
	DISPATCH(removexattr, node, name);
}

static void on_access(fuse_req_t req, fuse_ino_t node, int mask)
{
	DISPATCH(access, node, mask);
}

static void on_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	const struct wire_create_in *in = fixed_part();
	DISPATCH(create, parent, name, fi->flags, mode, in->open_flags & WIRE_OPEN_KILL_SUIDGID);
}

static void on_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t offset, off_t length,
			 struct fuse_file_info *fi)
{
	DISPATCH(fallocate, node, fi->fh, mode, offset, length);
}

static void on_lseek(fuse_req_t req, fuse_ino_t node, off_t offset, int whence, struct fuse_file_info *fi)
{
	DISPATCH(lseek, node, fi->fh, offset, whence);
}

static void on_copy_file_range(fuse_req_t req, fuse_ino_t node_in, off_t offset_in, struct fuse_file_info *fi_in,
			       fuse_ino_t node_out, off_t offset_out, struct fuse_file_info *fi_out, size_t length,
			       int flags)
{
	DISPATCH(copy_file_range, node_in, fi_in->fh, offset_in, node_out, fi_out->fh, offset_out, length,
		 (uint64_t)flags);
}

static void on_ioctl(fuse_req_t req, fuse_ino_t node, unsigned command, void *argument, struct fuse_file_info *fi,
		     unsigned flags, const void *input, size_t input_size, size_t output_size)
{
	(void)argument; /* an address of the caller: unused here */
	DISPATCH(ioctl, node, fi->fh, command, flags, input, input_size, output_size);
}

/* getlk, setlk and flock are null, so that the kernel handles locks by itself. */
const struct fuse_lowlevel_ops aclfs_fuse_operations = {
	.init = on_init,
	.lookup = on_lookup,
	.forget = on_forget,
	.forget_multi = on_forget_multi,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readlink = on_readlink,
	.mknod = on_mknod,
	.mkdir = on_mkdir,
	.unlink = on_unlink,
	.rmdir = on_rmdir,
	.symlink = on_symlink,
	.rename = on_rename,
	.link = on_link,
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.release = on_release,
	.fsync = on_fsync,
	.opendir = on_opendir,
	.readdir = on_readdir,
	.readdirplus = on_readdirplus,
	.releasedir = on_releasedir,
	.fsyncdir = on_fsyncdir,
	.statfs = on_statfs,
	.setxattr = on_setxattr,
	.getxattr = on_getxattr,
	.listxattr = on_listxattr,
	.removexattr = on_removexattr,
	.access = on_access,
	.create = on_create,
	.fallocate = on_fallocate,
	.lseek = on_lseek,
	.copy_file_range = on_copy_file_range,
	.ioctl = on_ioctl,
};

/* ---- requests that the library does not know ---- */

bool aclfs_fuse_serve_unknown(aclfs_fuse_session *session, const struct wire_in_header *header, size_t size)
{
	const struct aclfs_fuse_handlers *handlers = &session->handlers;
	const void *fixed = header + 1;
	size_t needed = sizeof *header;
	switch (header->opcode) {
	case WIRE_STATX:
		if (session->configuration.masked & ACLFS_FUSE_MASK_STATX)
			return false;
		needed += sizeof(struct wire_statx_in);
		break;
	case WIRE_TMPFILE:
		needed += sizeof(struct wire_create_in);
		break;
	case WIRE_COPY_FILE_RANGE_64:
		needed += sizeof(struct wire_copy_file_range_in);
		break;
	case WIRE_SYNCFS:
		break;
	default:
		return false;
	}
	if (size < needed)
		return false; /* the library reports the error */

	atomic_fetch_add(&session->unanswered, 1);
	struct aclfs_fuse_request request = { session, NULL, fuse_thread.answering, header->unique, header->opcode };
	struct aclfs_fuse_caller caller = { header->uid, header->gid, header->pid, 0 };
	switch (header->opcode) {
	case WIRE_STATX: {
		const struct wire_statx_in *in = fixed;
		handlers->statx(session->userdata, request, caller, header->nodeid,
				in->getattr_flags & WIRE_GETATTR_FH, in->fh, in->sx_mask);
		break;
	}
	case WIRE_TMPFILE: {
		const struct wire_create_in *in = fixed;
		caller.umask = in->umask;
		handlers->tmpfile(session->userdata, request, caller, header->nodeid, (int32_t)in->flags, in->mode);
		break;
	}
	case WIRE_COPY_FILE_RANGE_64: {
		const struct wire_copy_file_range_in *in = fixed;
		handlers->copy_file_range(session->userdata, request, caller, header->nodeid, in->fh_in,
					  (int64_t)in->off_in, in->nodeid_out, in->fh_out, (int64_t)in->off_out,
					  in->len, in->flags);
		break;
	}
	default:
		handlers->syncfs(session->userdata, request, caller, header->nodeid);
	}
	return true;
}
