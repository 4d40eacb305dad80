// Races against a mount: reads a script (script.c) and runs it.
//
// rounds/revocations/seconds: a taker takes a right away and gives it back while agents of several users call in a loop
// without pause. A call that began after the taker's call had returned, and ended before the next one began,
// must have the outcome of that state. Nobody is told to begin: the very next call is judged.
//
// attempts: a trace whose delay is forced (forced.c).
//
// Exit: 0 all as it must be; 1 something was not, and is printed; 2 the script could not be run.
#include "race.h"
#include <sys/mman.h>

struct shared *shared;

void describe(const struct call *call, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < call->words && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? " " : "", call->word[i]);
}

void take_note(const struct identity *who, const struct call *call, long round, bool open, int got, int wanted)
{
    shared->wrong++;
    int index = shared->notes++;
    if (index >= MAX_NOTES) return;
    struct note *note = &shared->note[index];
    *note = (struct note){.round = round, .uid = who->uid, .open = open, .got = got, .wanted = wanted};
    describe(call, note->what, sizeof note->what);
}

int report(void)
{
    int notes = shared->notes < MAX_NOTES ? shared->notes : MAX_NOTES;
    for (int i = 0; i < notes; i++) {
        const struct note *note = &shared->note[i];
        printf("round %ld, %s: uid %u: %s: %s, must be %s\n", note->round, note->open ? "granted" : "taken away",
            note->uid, note->what, errno_word(note->got), errno_word(note->wanted));
    }
    if (shared->wrong) printf("%d wrong outcomes\n", shared->wrong);
    return shared->wrong ? 1 : 0;
}

int main(void)
{
    static struct script script;
    read_script(&script);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) give_up("mmap: %s", strerror(errno));
    return script.attempts ? run_forced(&script) : run_rounds(&script);
}
