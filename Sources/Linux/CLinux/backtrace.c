#include "clinux.h"

#include <signal.h>
#include <stdlib.h>

/* Swift's runtime runs a program that prints where a process crashed. Started by a bare name, it searches that
 * program from the working directory on, which may be another user's. SWIFT_BACKTRACE turns it on. The environment
 * cannot turn it off: a static program finds its arguments below the environment before main(). */
void aclfs_end_without_backtrace(void) {
  static const int crashes[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
  if (getenv("SWIFT_BACKTRACE") != NULL) return;
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
    struct sigaction action;
    /* A signal that is ignored was ignored by the parent. */
    if (sigaction(crashes[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) signal(crashes[i], SIG_DFL);
  }
}
