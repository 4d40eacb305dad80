// Reads the script: one line each, words separated by tabs.
#include "race.h"
#include <stdarg.h>

void give_up(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("aclfs-race: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(2);
}

const char *errno_word(int number)
{
    const char *name = number ? strerrorname_np(number) : "ok";
    return number == ANYTHING ? "any" : name ? name : "unknown";
}

static int expected(const char *word)
{
    if (strcmp(word, "any") == 0) return ANYTHING;
    for (int number = 0; number < 134; number++)
        if (strcmp(errno_word(number), word) == 0) return number;
    give_up("no such outcome: %s", word);
}

static long number(const char *word)
{
    char *end;
    long value = strtol(word, &end, 10);
    if (!*word || *end) give_up("no number: %s", word);
    return value;
}

static struct identity identity(char **word)
{
    struct identity who = {.uid = (uid_t)number(word[0]), .gid = (gid_t)number(word[1])};
    char *list = strcmp(word[2], "-") == 0 ? NULL : word[2];
    for (char *group; (group = strsep(&list, ",")) && who.count < MAX_GROUPS;)
        who.groups[who.count++] = (gid_t)number(group);
    return who;
}

static struct call call(char **word, int count)
{
    struct call made = {.words = count};
    if (count < 1 || count > MAX_WORDS) give_up("a call needs 1 to %d words", MAX_WORDS);
    for (int i = 0; i < count; i++) made.word[i] = strdup(word[i]);
    return made;
}

static void add(struct calls *calls, struct call made)
{
    if (calls->count == MAX_CALLS) give_up("too many calls");
    calls->at[calls->count++] = made;
}

static void add_step(struct script *script, char **word, int count)
{
    if (script->steps == MAX_CALLS || count < 6) give_up("too many steps, or one too short: %s", word[0]);
    struct step *step = &script->step[script->steps++];
    step->when = strcmp(word[0], "first") == 0 ? BEFORE : strcmp(word[0], "victim") == 0 ? VICTIM
        : strcmp(word[0], "during") == 0 ? DURING : AFTER;
    step->who = identity(word + 1);
    step->call = call(word + 5, count - 5);
    step->call.open = expected(word[4]);
}

static void read_line(struct script *script, char **word, int count)
{
    const char *first = word[0];
    struct agent *agent = script->agents ? &script->agent[script->agents - 1] : NULL;
    bool one = count == 2;
    if (strcmp(first, "rounds") == 0 && one) script->rounds = number(word[1]);
    else if (strcmp(first, "revocations") == 0 && one) script->revocations = number(word[1]);
    else if (strcmp(first, "seconds") == 0 && one) script->seconds = number(word[1]);
    else if (strcmp(first, "attempts") == 0 && one) script->attempts = number(word[1]);
    else if (strcmp(first, "serving") == 0 && one && script->servers < 4)
        script->serving[script->servers++] = (pid_t)number(word[1]);
    else if (strcmp(first, "taker") == 0 && count == 4) script->taker = identity(word + 1);
    else if (strcmp(first, "before") == 0) add(&script->before, call(word + 1, count - 1));
    else if (strcmp(first, "take") == 0) add(&script->take, call(word + 1, count - 1));
    else if (strcmp(first, "give") == 0) add(&script->give, call(word + 1, count - 1));
    else if (strcmp(first, "then") == 0) add(&script->then, call(word + 1, count - 1));
    else if (strcmp(first, "agent") == 0 && count >= 5) {
        if (script->agents == MAX_AGENTS) give_up("too many agents");
        agent = &script->agent[script->agents++];
        agent->who = identity(word + 1);
        agent->pause = number(word[4]);
        agent->who.may_regroup = count == 6 && strcmp(word[5], "setgid") == 0;
        agent->is_bystander = count == 6 && strcmp(word[5], "bystander") == 0;
    } else if (strcmp(first, "call") == 0 && agent && count >= 4) {
        struct call made = call(word + 3, count - 3);
        made.open = expected(word[1]);
        made.closed = expected(word[2]);
        add(&agent->calls, made);
    } else if (strcmp(first, "first") == 0 || strcmp(first, "victim") == 0 || strcmp(first, "during") == 0
        || strcmp(first, "after") == 0)
        add_step(script, word, count);
    else give_up("not understood: %s", first);
}

void read_script(struct script *script)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        if (line[length - 1] == '\n') line[length - 1] = 0;
        char *word[2 * MAX_WORDS];
        int count = 0;
        for (char *rest = line, *next; (next = strsep(&rest, "\t")) && count < 2 * MAX_WORDS;) word[count++] = next;
        if (line[0]) read_line(script, word, count);
    }
    free(line);
}
