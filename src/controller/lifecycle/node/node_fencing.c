/* SPDX-License-Identifier: Apache-2.0 */
/* Only the site knows how to switch a machine off, and only success means that it is off: a
 * program that fails, hangs or is killed proves nothing, so the node stays silent and its jobs
 * stay where they are. A few programs run at a time, because a failed switch silences hundreds
 * of nodes at once and the site's power controller is often one machine.
 */
#include "controller/lifecycle/node/node_fencing.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/timed_program.h"

#define AT_A_TIME 4u
#define RETRY_MS  60000

enum fencing_state {
    FENCING_WAITS, /* for another program to end */
    FENCING_RUNS,
    FENCING_FAILED, /* is tried again at retry_at_us */
    FENCING_DONE,
};

struct fencing_node {
    struct list link; /* in `waiting`, or in no list */
    struct node_fencing *fencing;
    enum fencing_state state;
    bool is_forgotten; /* while the program runs */
    struct timed_program *program;
    int64_t retry_at_us;
    char name[];
};

struct node_fencing {
    struct node_fencing_settings s;
    struct map *nodes;
    struct list waiting;
    unsigned n_running;
};

static void PRINTF(4, 5) record_event(const struct fencing_node *n, enum recorded_event_kind kind,
                                      const char *reason, const char *format, ...)
{
    const struct node_fencing_settings *s = &n->fencing->s;
    const struct object *node = object_cache_find(s->cache, &node_kind, NULL, n->name);
    CLEANUP_FREE char *message = NULL;
    va_list args;

    va_start(args, format);
    message = xvasprintf(format, args);
    va_end(args);
    if (kind == RECORD_WARNING)
        log_error("%s", message);
    else
        log_info("%s", message);
    if (node != NULL)
        event_recorder_record(s->event_recorder, node, kind, reason, message);
}

static void
remove_node(struct fencing_node *n)
{
    list_remove(&n->link);
    timed_program_free(n->program);
    map_remove(n->fencing->nodes, n->name);
    free(n);
}

static void
note_failure(struct fencing_node *n, const char *words)
{
    n->state = FENCING_FAILED;
    n->retry_at_us = clock_monotonic_us(n->fencing->s.clock) + RETRY_MS * INT64_C(1000);
    record_event(
        n, RECORD_WARNING, EVENT_FENCING_FAILED,
        "'%s %s' has not switched the node off: %s; it is not fenced, and its jobs do not start "
        "elsewhere; trying again in %d s",
        n->fencing->s.program, n->name, words, RETRY_MS / 1000);
}

static void start_next(struct node_fencing *f);

static void
on_done(const char *failure, void *context)
{
    struct fencing_node *n = context;
    struct node_fencing *f = n->fencing;

    f->n_running--;
    if (n->is_forgotten) {
        log_info("'%s %s' has ended (%s), but the node reports again: it is not fenced",
                 f->s.program, n->name, failure != NULL ? failure : "exit status 0");
        remove_node(n);
        start_next(f);
        return;
    }
    if (failure != NULL) {
        note_failure(n, failure);
    } else {
        n->state = FENCING_DONE;
        record_event(n, RECORD_NORMAL, EVENT_SWITCHED_OFF,
                     "'%s %s' has switched the node off; fencing it", f->s.program, n->name);
    }
    timed_program_free(n->program);
    n->program = NULL;
    f->s.changed(n->name, f->s.context);
    start_next(f);
}

static void
run_program(struct fencing_node *n)
{
    struct node_fencing *f = n->fencing;
    CLEANUP_FREE char *program = xstrdup(f->s.program);
    char *const argv[] = {program, n->name, NULL};
    struct error err = {0};

    if (timed_program_start(f->s.loop,
                            &(struct timed_program_plan){
                                .path = f->s.program,
                                .argv = argv,
                                .limit_ms = f->s.limit_ms,
                            },
                            on_done, n, &n->program, &err)
        < 0) {
        note_failure(n, err.text);
        f->s.changed(n->name, f->s.context);
        return;
    }
    n->state = FENCING_RUNS;
    f->n_running++;
    record_event(n, RECORD_NORMAL, EVENT_FENCING, "The node does not report; running '%s %s'",
                 f->s.program, n->name);
}

static void
start_next(struct node_fencing *f)
{
    while (f->n_running < AT_A_TIME && !list_is_empty(&f->waiting)) {
        struct fencing_node *n = container_of(f->waiting.next, struct fencing_node, link);

        list_remove(&n->link);
        if (f->s.is_wanted(n->name, f->s.context))
            run_program(n);
        else
            remove_node(n);
    }
}

int64_t
node_fencing_start(struct node_fencing *f, const char *node)
{
    struct fencing_node *n = map_find(f->nodes, node);
    const size_t size = strlen(node) + 1;
    int64_t left_us;

    if (n == NULL) {
        n = xcalloc(1, sizeof(*n) + size);
        n->fencing = f;
        n->state = FENCING_FAILED;
        memcpy(n->name, node, size);
        list_init(&n->link);
        map_put(f->nodes, node, n);
    }
    n->is_forgotten = false;
    left_us = n->retry_at_us - clock_monotonic_us(f->s.clock);
    if (n->state != FENCING_FAILED)
        return 0;
    if (left_us > 0)
        return left_us / 1000 + 1;
    n->state = FENCING_WAITS;
    list_add_last(&f->waiting, &n->link);
    start_next(f);
    return 0;
}

void
node_fencing_forget(struct node_fencing *f, const char *node)
{
    struct fencing_node *n = map_find(f->nodes, node);

    if (n == NULL)
        return;
    if (n->state == FENCING_RUNS)
        n->is_forgotten = true;
    else
        remove_node(n);
}

bool
node_fencing_is_off(const struct node_fencing *f, const char *node)
{
    const struct fencing_node *n = map_find(f->nodes, node);

    return n != NULL && n->state == FENCING_DONE;
}

struct node_fencing *
node_fencing_new(const struct node_fencing_settings *settings)
{
    struct node_fencing *f = xnew(struct node_fencing);

    f->s = *settings;
    f->nodes = map_new();
    list_init(&f->waiting);
    return f;
}

void
node_fencing_free(struct node_fencing *f)
{
    size_t at = 0;
    void *value;

    if (f == NULL)
        return;
    while (map_next(f->nodes, &at, NULL, &value)) {
        struct fencing_node *n = value;

        timed_program_free(n->program);
        free(n);
    }
    map_free(f->nodes);
    free(f);
}
