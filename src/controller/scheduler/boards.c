/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/boards.h"

#include "controller/scheduler/board.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"

struct kept_board {
    struct list link; /* used last, first */
    uint32_t signature;
    struct board *board;
};

/* A signature that was asked for. */
struct asked {
    struct kept_board *kept; /* or NULL */
    uint64_t generation;     /* of the nodes, when it last was */
    uint32_t saved;          /* what a board would have saved since, in nodes */
};

struct boards {
    size_t bytes;
    struct asked *by_signature;
    size_t n_signatures;
    struct list kept;
    size_t count;
};

struct boards *
boards_new(size_t bytes)
{
    struct boards *bs = xnew(struct boards);

    bs->bytes = bytes > 0 ? bytes : (size_t)64 << 20;
    list_init(&bs->kept);
    return bs;
}

static void
drop(struct boards *bs, struct kept_board *kept)
{
    bs->by_signature[kept->signature] = (struct asked){0};
    list_remove(&kept->link);
    board_free(kept->board);
    free(kept);
    bs->count--;
}

void
boards_free(struct boards *bs)
{
    if (bs == NULL)
        return;
    list_foreach_safe(link, &bs->kept)
        drop(bs, container_of(link, struct kept_board, link));
    free(bs->by_signature);
    free(bs);
}

static void
reach(struct boards *bs, uint32_t signature)
{
    size_t n = bs->n_signatures;

    if (signature < n)
        return;
    bs->n_signatures = (size_t)signature * 2 + 64;
    bs->by_signature = xrealloc_array(bs->by_signature,
                                      bs->n_signatures,
                                      sizeof(*bs->by_signature));
    for (; n < bs->n_signatures; n++)
        bs->by_signature[n] = (struct asked){0};
}

bool
boards_are_worth(struct boards *bs,
                 uint32_t signature,
                 const struct snapshot *s,
                 unsigned cost)
{
    struct asked *asked;
    unsigned changed;

    reach(bs, signature);
    asked = &bs->by_signature[signature];
    if (asked->kept != NULL && board_behind(asked->kept->board, s, cost) < cost)
        return true;
    changed = asked->generation > 0
                  ? snapshot_changed(s, asked->generation, cost)
                  : cost;
    asked->generation = s->generation;
    asked->saved += cost - changed;
    if (asked->saved < s->n_nodes)
        return false;
    asked->saved = 0;
    return true;
}

struct board *
boards_get(struct boards *bs, const struct profile *profile, uint32_t signature)
{
    struct kept_board *kept;

    reach(bs, signature);
    kept = bs->by_signature[signature].kept;
    if (kept == NULL) {
        kept = xnew(struct kept_board);
        list_init(&kept->link);
        kept->signature = signature;
        kept->board = board_new(profile);
        bs->by_signature[signature].kept = kept;
        bs->count++;
    }
    list_remove(&kept->link);
    list_add_first(&bs->kept, &kept->link);
    return kept->board;
}

/* All have about the size of the one in use. */
void
boards_bound(struct boards *bs, const struct board *used)
{
    while (bs->count > 4 && bs->count * board_bytes(used) > bs->bytes)
        drop(bs, container_of(bs->kept.prev, struct kept_board, link));
}
