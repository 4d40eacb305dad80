// Who makes the calls, and on which processor.
#include "race.h"
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// The identity is taken for good; the one capability lets a process give up a group of its own later.
void take_on(const struct identity *who)
{
    if (who->may_regroup) prctl(PR_SET_KEEPCAPS, 1);
    if (setgroups(who->count, who->groups) || setresgid(who->gid, who->gid, who->gid)
        || setresuid(who->uid, who->uid, who->uid))
        give_up("cannot take on uid %u: %s", who->uid, strerror(errno));
    if (!who->may_regroup) return;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0}};
    sets[0].effective = sets[0].permitted = 1u << CAP_SETGID;
    if (syscall(SYS_capset, &header, sets)) give_up("capset: %s", strerror(errno));
}

void borrow(const struct identity *who)
{
    if (seteuid(0) || setegid(0) || setgroups(who->count, who->groups) || setegid(who->gid) || seteuid(who->uid))
        give_up("cannot borrow uid %u: %s", who->uid, strerror(errno));
}

void stay_on(pid_t pid, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    // A thread of a daemon may have ended meanwhile.
    if (sched_setaffinity(pid, sizeof set, &set) && errno != ESRCH)
        give_up("cannot stay on processor %d: %s", cpu, strerror(errno));
}
