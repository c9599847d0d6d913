/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_round.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "controller/history/history_question.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"

struct round_place {
    struct history_part part;
    _Atomic(struct history_part_result *) result;
};

/* A place is written before `count` includes it. `claimed` is never above
 * `count`.
 */
struct history_round {
    atomic_uint references;
    struct arena *arena; /* of the question */
    struct history_question question;
    int64_t ends_us;
    atomic_uint count, claimed;
    struct round_place places[HISTORY_ROUND_PARTS];
};

/* Replaces a result after history_round_forget, so that none is stored later.
 */
static struct history_part_result forgotten;

/* ---- A copy of the question ---- */

static const char *
copy_text(struct arena *arena, const char *text)
{
    return text != NULL ? arena_strdup(arena, text) : NULL;
}

static void
copy_accounts(struct arena *arena, struct history_rights *rights)
{
    const char **copies = arena_new_array(arena, const char *, rights->n_accounts + 1);

    for (size_t i = 0; i < rights->n_accounts; i++)
        copies[i] = arena_strdup(arena, rights->accounts[i]);
    rights->accounts = copies;
}

static const struct task_list *
copy_tasks(struct arena *arena, const struct task_list *tasks)
{
    struct task_list *copy;

    if (tasks == NULL)
        return NULL;
    copy = arena_memdup(arena, tasks, sizeof(*tasks));
    copy->ranges = arena_memdup(arena, tasks->ranges, tasks->count * sizeof(*tasks->ranges));
    return copy;
}

static void
copy_question(struct arena *arena, const struct history_question *from, struct history_question *q)
{
    *q = *from;
    q->rights.user = copy_text(arena, from->rights.user);
    copy_accounts(arena, &q->rights);
    q->user = copy_text(arena, from->user);
    q->account = copy_text(arena, from->account);
    q->partition = copy_text(arena, from->partition);
    q->node = copy_text(arena, from->node);
    q->name = copy_text(arena, from->name);
    q->tasks = copy_tasks(arena, from->tasks);
}

/* ---- Life ---- */

struct history_part_result *
history_part_result_new(void)
{
    struct history_part_result *result = xnew(struct history_part_result);

    strbuf_init(&result->text);
    return result;
}

static void
free_result(struct history_part_result *result)
{
    if (result == NULL || result == &forgotten)
        return;
    strbuf_fini(&result->text);
    free(result);
}

struct history_round *
history_round_new(const struct history_question *question, int64_t ends_us)
{
    struct history_round *round = xnew(struct history_round);

    atomic_init(&round->references, 1);
    round->arena = arena_new(0);
    copy_question(round->arena, question, &round->question);
    round->ends_us = ends_us;
    return round;
}

struct history_round *
history_round_ref(struct history_round *round)
{
    atomic_fetch_add(&round->references, 1);
    return round;
}

void
history_round_unref(struct history_round *round)
{
    if (round == NULL || atomic_fetch_sub(&round->references, 1) > 1)
        return;
    history_round_forget(round);
    arena_free(round->arena);
    free(round);
}

/* ---- The question ---- */

const struct history_question *
history_round_question(const struct history_round *round)
{
    return &round->question;
}

int64_t
history_round_ends_us(const struct history_round *round)
{
    return round->ends_us;
}

/* ---- Parts ---- */

void
history_round_add(struct history_round *round, const struct history_part *part)
{
    const unsigned i = atomic_load(&round->count);

    assert(i < HISTORY_ROUND_PARTS);
    round->places[i].part = *part;
    atomic_store(&round->count, i + 1);
}

unsigned
history_round_count(const struct history_round *round)
{
    return atomic_load(&round->count);
}

const struct history_part *
history_round_part(const struct history_round *round, unsigned i)
{
    return &round->places[i].part;
}

bool
history_round_claim(struct history_round *round, unsigned *ret_i)
{
    unsigned i = atomic_load(&round->claimed);

    while (i < atomic_load(&round->count))
        if (atomic_compare_exchange_weak(&round->claimed, &i, i + 1)) {
            *ret_i = i;
            return true;
        }
    return false;
}

/* ---- Results ---- */

void
history_round_give(struct history_round *round, unsigned i, struct history_part_result *result)
{
    struct history_part_result *none = NULL;

    if (!atomic_compare_exchange_strong(&round->places[i].result, &none, result))
        free_result(result);
}

const struct history_part_result *
history_round_result_of(const struct history_round *round, unsigned i)
{
    return atomic_load(&round->places[i].result);
}

void
history_round_forget(struct history_round *round)
{
    for (unsigned i = 0; i < HISTORY_ROUND_PARTS; i++)
        free_result(atomic_exchange(&round->places[i].result, &forgotten));
}
