#include "internal.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

/* A notification is a reply without a request: unique is 0, and error is its code. */
static int notify(aclfs_fuse_session *session, enum wire_notification code, struct iovec *iov, int count)
{
	struct wire_out_header header = { .len = 0, .error = (int32_t)code, .unique = 0 };
	iov[0] = (struct iovec){ &header, sizeof header };
	for (int i = 0; i < count; i++)
		header.len += (uint32_t)iov[i].iov_len;
	return writev(session->device, iov, count) < 0 ? errno : 0;
}

int aclfs_fuse_notify_inode(aclfs_fuse_session *session, uint64_t node, int64_t offset, int64_t length)
{
	struct wire_notify_inval_inode out = { node, offset, length };
	struct iovec iov[2] = { { 0 }, { &out, sizeof out } };
	return notify(session, WIRE_NOTIFY_INVAL_INODE, iov, 2);
}

int aclfs_fuse_notify_entry(aclfs_fuse_session *session, uint64_t parent, const char *name, bool expire_only)
{
	if (expire_only && !session->negotiated.expire)
		return ENOSYS; /* an older kernel would invalidate the entry instead */
	size_t length = strlen(name);
	struct wire_notify_inval_entry out = { parent, (uint32_t)length, expire_only ? WIRE_INVAL_EXPIRE_ONLY : 0 };
	struct iovec iov[3] = { { 0 }, { &out, sizeof out }, { (void *)name, length + 1 } };
	return notify(session, WIRE_NOTIFY_INVAL_ENTRY, iov, 3);
}

int aclfs_fuse_notify_epoch(aclfs_fuse_session *session)
{
	if (!session->negotiated.epoch || session->configuration.masked & ACLFS_FUSE_MASK_EPOCH)
		return ENOSYS;
	struct iovec iov[1];
	return notify(session, WIRE_NOTIFY_INC_EPOCH, iov, 1);
}

int aclfs_fuse_notify_resend(aclfs_fuse_session *session)
{
	struct iovec iov[1];
	return notify(session, WIRE_NOTIFY_RESEND, iov, 1);
}

int aclfs_fuse_backing_open(aclfs_fuse_session *session, int descriptor)
{
	struct wire_backing_map map = { .fd = descriptor };
	int id = ioctl(session->device, WIRE_IOC_BACKING_OPEN, &map);
	return id < 0 ? -errno : id;
}

int aclfs_fuse_backing_close(aclfs_fuse_session *session, int32_t backing_id)
{
	uint32_t id = (uint32_t)backing_id;
	return ioctl(session->device, WIRE_IOC_BACKING_CLOSE, &id) ? errno : 0;
}
