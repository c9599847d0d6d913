/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/write/batch.h"

#include <string.h>

#include "controller/store/write/undo_log.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"

struct batch_waiter {
    batch_done_fn *done;
    void *context;
};

struct batch {
    struct engine_op *ops;
    size_t n_ops, ops_capacity;
    const struct object **objects;
    size_t n_objects, objects_capacity;
    struct batch_waiter *waiters;
    size_t n_waiters, waiters_capacity;
    struct arena **arenas; /* hold the texts; batch_copy uses the first */
    size_t n_arenas, arenas_capacity;
    struct undo_log undo;
    struct batch *events; /* or NULL */
};

struct batch *
batch_new(void)
{
    return xnew(struct batch);
}

void
batch_free(struct batch *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->n_objects; i++)
        object_unref(b->objects[i]);
    for (size_t i = 0; i < b->n_arenas; i++)
        arena_free(b->arenas[i]);
    free(b->ops);
    free(b->objects);
    free(b->waiters);
    free(b->arenas);
    undo_log_fini(&b->undo);
    batch_free(b->events);
    free(b);
}

void
batch_add(struct batch *b, const struct engine_op *op, const struct object *object)
{
    xgrow(b->ops, b->n_ops, b->ops_capacity);
    b->ops[b->n_ops++] = *op;
    if (object == NULL)
        return;
    xgrow(b->objects, b->n_objects, b->objects_capacity);
    b->objects[b->n_objects++] = object_ref(object);
}

static void
add_arena(struct batch *b, struct arena *arena)
{
    xgrow(b->arenas, b->n_arenas, b->arenas_capacity);
    b->arenas[b->n_arenas++] = arena;
}

const char *
batch_copy(struct batch *b, const char *text, size_t length)
{
    char *copy;

    if (b->n_arenas == 0)
        add_arena(b, arena_new(0));
    copy = arena_alloc(b->arenas[0], length + 1);
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

const char *
batch_text(struct batch *b, const struct object *object)
{
    if (b->n_arenas == 0)
        add_arena(b, arena_new(0));
    return object_text(object, b->arenas[0]);
}

void
batch_append(struct batch *b, struct batch *from)
{
    for (size_t i = 0; i < from->n_ops; i++)
        batch_add(b, &from->ops[i], NULL);
    for (size_t i = 0; i < from->n_objects; i++) {
        xgrow(b->objects, b->n_objects, b->objects_capacity);
        b->objects[b->n_objects++] = from->objects[i];
    }
    for (size_t i = 0; i < from->n_waiters; i++)
        batch_wait(b, from->waiters[i].done, from->waiters[i].context);
    for (size_t i = 0; i < from->n_arenas; i++)
        add_arena(b, from->arenas[i]);
    undo_log_append(&b->undo, &from->undo);
    if (from->events != NULL)
        batch_keep_events(b, batch_take_events(from));
    from->n_objects = from->n_arenas = 0;
    batch_free(from);
}

void
batch_keep_events(struct batch *b, struct batch *events)
{
    if (b->events == NULL)
        b->events = events;
    else
        batch_append(b->events, events);
}

struct batch *
batch_take_events(struct batch *b)
{
    struct batch *events = b->events;

    b->events = NULL;
    return events;
}

struct undo_log *
batch_undo(struct batch *b)
{
    return &b->undo;
}

void
batch_wait(struct batch *b, batch_done_fn *done, void *context)
{
    xgrow(b->waiters, b->n_waiters, b->waiters_capacity);
    b->waiters[b->n_waiters++] = (struct batch_waiter){done, context};
}

void
batch_run_waiters(struct batch *b, int outcome)
{
    for (size_t i = 0; i < b->n_waiters; i++)
        if (b->waiters[i].done != NULL)
            b->waiters[i].done(outcome, b->waiters[i].context);
    b->n_waiters = 0;
}

const struct engine_op *
batch_ops(const struct batch *b, size_t *ret_n)
{
    *ret_n = b->n_ops;
    return b->ops;
}

bool
batch_is_empty(const struct batch *b)
{
    return b->n_ops == 0 && b->n_waiters == 0;
}
