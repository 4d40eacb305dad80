#include "clinux.h"

#include <signal.h>
#include <stdlib.h>

/* Swift's runtime would run a program beside the crashed one to print where it crashed. Where the process was started by a name alone,
   it has looked for that program from the working directory on, which may be anybody's. Who asks for it by the environment gets it. The
   environment cannot be used to turn it off: before main() a program that has the runtime in itself finds its arguments below it. */
void aclfs_end_without_backtrace(void) {
  static const int crashes[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
  if (getenv("SWIFT_BACKTRACE") != NULL) return;
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
    struct sigaction action;
    /* What is ignored was so when we were started. */
    if (sigaction(crashes[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) signal(crashes[i], SIG_DFL);
  }
}
