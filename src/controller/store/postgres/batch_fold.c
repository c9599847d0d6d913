/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/postgres/batch_fold.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

/* The things that operations change. Operations on the same thing are folded. */
enum thing { THING_OBJECT, THING_DELTA, THING_BLOB, THING_SECRET };

static enum thing
thing_of(const struct engine_op *op)
{
    switch (op->verb) {
    case ENGINE_INSERT:
    case ENGINE_UPDATE:
    case ENGINE_DELETE:
        return THING_OBJECT;
    case ENGINE_ADD_DELTA:
    case ENGINE_DROP_DELTA:
        return THING_DELTA;
    case ENGINE_ADD_BLOB:
    case ENGINE_COUNT_BLOB:
    case ENGINE_DROP_BLOB:
        return THING_BLOB;
    case ENGINE_PUT_SECRET:
    case ENGINE_DROP_SECRET:
        break;
    }
    return THING_SECRET;
}

static int
compare_things(const struct engine_op *a, const struct engine_op *b)
{
    enum thing of_a = thing_of(a), of_b = thing_of(b);
    int64_t key_a, key_b;

    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    if (of_a == THING_SECRET)
        return strcmp(a->name, b->name);
    key_a = of_a == THING_DELTA ? a->revision : a->row;
    key_b = of_a == THING_DELTA ? b->revision : b->row;
    return key_a < key_b ? -1 : key_a > key_b;
}

/* Operations on one thing stay in their order: they are members of one array. */
static int
compare(const void *left, const void *right)
{
    const struct engine_op *a = *(const struct engine_op *const *)left;
    const struct engine_op *b = *(const struct engine_op *const *)right;
    int order = compare_things(a, b);

    return order != 0 ? order : a < b ? -1 : a > b;
}

/* The sum of the operations on one thing so far. */
struct net_change {
    struct engine_op op;
    bool is_there;  /* otherwise nothing remains to be done */
    bool has_ended; /* it was there only within the batch */
    bool was_put;   /* a secret that the batch has put */
};

static bool
is_first(enum engine_verb verb)
{
    return verb == ENGINE_INSERT || verb == ENGINE_ADD_DELTA || verb == ENGINE_ADD_BLOB;
}

static bool
is_last(enum engine_verb verb)
{
    return verb == ENGINE_DELETE || verb == ENGINE_DROP_DELTA || verb == ENGINE_DROP_BLOB;
}

/* Secrets have no beginning and no end: they are named anew at any time. */
static void
add_secret(struct net_change *net, const struct engine_op *op)
{
    net->was_put |= op->verb == ENGINE_PUT_SECRET;
    net->op = *op;
    net->is_there = true;
}

static int
refuse(const struct engine_op *op, struct error *err)
{
    return error_set(err, -EPROTO,
                     "a batch changes what it has removed, or makes it twice (row %" PRId64
                     ", revision %" PRId64 "): this is a bug in Kiln; please report it",
                     op->row, op->revision);
}

static int
add(struct net_change *net, const struct engine_op *op, struct error *err)
{
    if (thing_of(op) == THING_SECRET) {
        add_secret(net, op);
        return 0;
    }
    if (net->has_ended || (net->is_there && (is_first(op->verb) || is_last(net->op.verb))))
        return refuse(op, err);
    if (is_last(op->verb) && net->is_there && is_first(net->op.verb)) {
        net->is_there = false;
        net->has_ended = true;
    } else if (!net->is_there || is_last(op->verb)) {
        net->op = *op;
        net->is_there = true;
    } else if (op->verb == ENGINE_COUNT_BLOB) {
        net->op.count = op->count;
    } else {
        net->op.revision = op->revision;
        net->op.bytes = op->bytes;
        net->op.length = op->length;
    }
    return 0;
}

static int
compare_verbs(const void *left, const void *right)
{
    const struct engine_op *a = left, *b = right;

    return a->verb != b->verb ? (a->verb < b->verb ? -1 : 1) : compare_things(a, b);
}

static void
sort_by_verb(struct batch_fold *fold, size_t n)
{
    size_t at = 0;

    if (n > 0)
        qsort(fold->ops, n, sizeof(*fold->ops), compare_verbs);
    for (int verb = 0; verb < ENGINE_VERBS; verb++) {
        fold->first[verb] = at;
        while (at < n && (int)fold->ops[at].verb == verb)
            at++;
    }
    fold->first[ENGINE_VERBS] = n;
}

int
batch_fold_init(struct batch_fold *fold, const struct engine_op *ops, size_t n_ops,
                struct error *err)
{
    CLEANUP_FREE const struct engine_op **sorted = xnew_array(const struct engine_op *, n_ops + 1);
    size_t n = 0;

    *fold = (struct batch_fold){.ops = xnew_array(struct engine_op, n_ops + 1)};
    for (size_t i = 0; i < n_ops; i++)
        sorted[i] = &ops[i];
    qsort(sorted, n_ops, sizeof(*sorted), compare);
    for (size_t i = 0; i < n_ops;) {
        const struct engine_op *first = sorted[i];
        struct net_change net = {0};

        for (; i < n_ops && compare_things(first, sorted[i]) == 0; i++) {
            int r = add(&net, sorted[i], err);

            if (r < 0)
                return r;
        }
        if (net.is_there)
            fold->ops[n++] = net.op;
        fold->unsure_drops += net.is_there && net.op.verb == ENGINE_DROP_SECRET && net.was_put;
    }
    sort_by_verb(fold, n);
    return 0;
}

void
batch_fold_fini(struct batch_fold *fold)
{
    free(fold->ops);
}
