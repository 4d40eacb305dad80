#include "clinux.h"

#include <signal.h>
#include <stdlib.h>

/* Swift's runtime runs a program beside the crashed one to print where it crashed. Where the process was started by a name alone, it
   looks for that program from the working directory on, which may be anybody's. It decides before main(), so we do before that. */
static int is_ours;

__attribute__((constructor(101))) static void without_backtrace(void) {
  if (getenv("SWIFT_BACKTRACE") == NULL) is_ours = setenv("SWIFT_BACKTRACE", "enable=no", 1) == 0;
}

void aclfs_end_without_backtrace(void) {
  static const int crashes[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
  if (!is_ours) return;
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i], SIG_DFL);
  /* What we start is not ours to set. */
  unsetenv("SWIFT_BACKTRACE");
}
