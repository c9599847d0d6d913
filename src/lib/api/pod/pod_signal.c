/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/pod_signal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define FIRST_REAL_TIME 32
#define KEPT            8
#define LAST_SEQUENCE   ((1 << 24) - 1) /* as a shepherd is told (agent/shepherd/handover.h) */

static const char *const targets[] = {
    [POD_SIGNAL_CHILDREN] = "Children",
    [POD_SIGNAL_SCRIPT] = "Script",
    [POD_SIGNAL_ALL] = "All",
    [POD_SIGNAL_STEP] = "Step",
};
static const char end_of_step[] = "END"; /* in place of a signal */
static const char by[] = "By";           /* the same, of the word that names the sender */

int
pod_signal_number(const char *text)
{
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    char *end;
    const long number = strtol(text, &end, 10);

    if (end != text && *end == '\0')
        return number > 0 && number < FIRST_REAL_TIME ? (int)number : 0;
    for (int i = 1; i < FIRST_REAL_TIME; i++) {
        const char *known = sigabbrev_np(i);

        if (known != NULL && strcasecmp(known, name) == 0)
            return i;
    }
    return 0;
}

const char *
pod_signal_name(int number)
{
    const char *name = number > 0 && number < FIRST_REAL_TIME ? sigabbrev_np(number) : NULL;

    return name != NULL ? name : "";
}

bool
pod_signal_find_target(const char *word, enum pod_signal_target *ret_target)
{
    for (unsigned i = 0; word != NULL && i < ARRAY_SIZE(targets); i++)
        if (strcmp(targets[i], word) == 0) {
            *ret_target = (enum pod_signal_target)i;
            return true;
        }
    return false;
}

const char *
pod_signal_target_word(enum pod_signal_target target)
{
    return targets[target];
}

bool
pod_signal_is_for_all_nodes(int number)
{
    return number == 0 || number == SIGKILL;
}

/* "Script", "Step:3:1764468000" */
static bool
read_target(char *text, struct pod_signal *s)
{
    char *name = strsep(&text, ":"), *end;

    if (!pod_signal_find_target(name, &s->target))
        return false;
    s->step = s->at_s = 0;
    if (s->target != POD_SIGNAL_STEP)
        return text == NULL;
    if (text == NULL)
        return false;
    s->step = strtoll(text, &end, 10);
    if (end == text || *end != ':' || s->step < 0)
        return false;
    s->at_s = strtoll(end + 1, &text, 10);
    return text != end + 1 && *text == '\0';
}

static bool
read_signal(const char *text, size_t length, struct pod_signal *ret_signal)
{
    char word[64];
    char *rest = word, *name;

    if (length >= sizeof(word))
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    ret_signal->sequence = strtoll(word, &rest, 10);
    if (ret_signal->sequence <= 0 || ret_signal->sequence > LAST_SEQUENCE || *rest != ':')
        return false;
    rest++;
    name = strsep(&rest, ":");
    ret_signal->number = pod_signal_number(name);
    return rest != NULL && read_target(rest, ret_signal)
           && (ret_signal->number > 0
               || (ret_signal->target == POD_SIGNAL_STEP && strcmp(name, end_of_step) == 0));
}

/* "5:By:1001", directly behind the signal of that number. */
static void
take_sender(const char **list, struct pod_signal *s)
{
    const char *word = *list + strspn(*list, " ");
    char name[sizeof(by)];
    int64_t sequence, uid;
    int length = 0;

    s->has_sender = false;
    if (s->target != POD_SIGNAL_STEP
        || sscanf(word, "%8" SCNd64 ":%2[By]:%10" SCNd64 "%n", &sequence, name, &uid, &length) != 3
        || strcmp(name, by) != 0 || (word[length] != ' ' && word[length] != '\0')
        || sequence != s->sequence || uid < 0 || uid > UINT32_MAX)
        return;
    s->has_sender = true;
    s->sender = uid;
    *list = word + length;
}

bool
pod_signals_next(const char **list, struct pod_signal *ret_signal)
{
    while (*list != NULL && **list != '\0') {
        const char *word = *list + strspn(*list, " ");
        const size_t length = strcspn(word, " ");

        *list = word + length;
        if (read_signal(word, length, ret_signal)) {
            take_sender(list, ret_signal);
            return true;
        }
    }
    return false;
}

const char *
pod_signals_add(const char *list, const struct pod_signal *signal, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct pod_signal last[KEPT], one;
    const char *rest = list;
    size_t count = 0;
    int64_t sequence = 0;

    while (pod_signals_next(&rest, &one)) {
        if (one.sequence > sequence)
            sequence = one.sequence;
        last[count++ % KEPT] = one;
    }
    last[count % KEPT] = *signal;
    last[count++ % KEPT].sequence = sequence + 1;
    for (size_t i = count > KEPT ? count - KEPT : 0; i < count; i++) {
        const struct pod_signal *s = &last[i % KEPT];

        strbuf_printf(&text, "%s%" PRId64 ":%s:%s", text.length > 0 ? " " : "", s->sequence,
                      s->number > 0 ? pod_signal_name(s->number) : end_of_step, targets[s->target]);
        if (s->target == POD_SIGNAL_STEP)
            strbuf_printf(&text, ":%" PRId64 ":%" PRId64, s->step, s->at_s);
        if (s->target == POD_SIGNAL_STEP && s->has_sender)
            strbuf_printf(&text, " %" PRId64 ":%s:%" PRId64, s->sequence, by, s->sender);
    }
    return arena_strdup(arena, text.text);
}
