/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/cycle.h"

#include <assert.h>
#include <stdarg.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/base/alloc.h"

const char CYCLE_GRANT[] = "grant";
const char CYCLE_TOPOLOGY_INDEX[] = "topology_index";
const char CYCLE_VOLUMES[] = "volumes";

void
cycle_init(struct cycle *c, struct pod_view *pod, const struct snapshot *snapshot)
{
    c->pod = pod_view_ref(pod);
    c->snapshot = snapshot;
    c->skipped_filters = 0;
    c->skipped_scores = 0;
    c->among = NULL;
    c->n_among = 0;
    c->words = NULL;
    c->n_notes = 0;
}

static void
drop(struct cycle_note *note)
{
    if (note->free_value != NULL)
        note->free_value(note->value);
}

void
cycle_fini(struct cycle *c)
{
    for (unsigned i = 0; i < c->n_notes; i++)
        drop(&c->notes[i]);
    c->n_notes = 0;
    free(c->words);
    c->words = NULL;
    pod_view_unref(c->pod);
    c->pod = NULL;
}

void
cycle_copy(struct cycle *to, const struct cycle *from)
{
    *to = *from;
    to->words = NULL;
    pod_view_ref(to->pod);
    for (unsigned i = 0; i < to->n_notes; i++) {
        struct cycle_note *note = &to->notes[i];

        if (note->dup_value != NULL)
            note->value = note->dup_value(note->value);
        else
            note->free_value = NULL;
    }
}

void
cycle_put(struct cycle *c, const void *key, void *value TAKES, cycle_free_fn *free_value,
          cycle_dup_fn *dup_value)
{
    unsigned i = 0;

    while (i < c->n_notes && c->notes[i].key != key)
        i++;
    if (i < c->n_notes)
        drop(&c->notes[i]);
    else
        c->n_notes++;
    assert(i < CYCLE_NOTES);
    c->notes[i] = (struct cycle_note){key, value, free_value, dup_value};
}

void *
cycle_get(const struct cycle *c, const void *key)
{
    for (unsigned i = 0; i < c->n_notes; i++)
        if (c->notes[i].key == key)
            return c->notes[i].value;
    return NULL;
}

void
cycle_set_message(struct cycle *c, const char *format, ...)
{
    va_list args;

    free(c->words);
    va_start(args, format);
    c->words = xvasprintf(format, args);
    va_end(args);
}
