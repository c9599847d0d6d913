/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/task_sets.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"

/* The maximum number of pieces before adjacent ones are joined; a range of the
 * result may join several.
 */
#define PIECES_MOST (4 * (size_t)TASK_LIST_RANGES_MOST)

enum range_operation { UNITE, INTERSECT, SUBTRACT };

struct range_pieces {
    struct arena *arena;
    struct task_range *items;
    size_t count, capacity;
};

static bool
is_full(const struct range_pieces *out)
{
    return out->count > PIECES_MOST;
}

static void
emit(struct range_pieces *out, int64_t first, int64_t last, int64_t step)
{
    if (first > last || is_full(out))
        return;
    if (out->count == out->capacity) {
        const size_t capacity = out->capacity > 0 ? 2 * out->capacity : 16;
        struct task_range *items = arena_new_array(out->arena, struct task_range, capacity);

        if (out->count > 0)
            memcpy(items, out->items, out->count * sizeof(*items));
        out->items = items;
        out->capacity = capacity;
    }
    out->items[out->count++] =
        (struct task_range){.first = first, .last = last, .step = first == last ? 1 : step};
}

static bool
is_empty(const struct task_range *r)
{
    return r->first > r->last;
}

/* Removes the ids up to `last` from the range and returns them. */
static struct task_range
cut(struct task_range *range, int64_t last)
{
    struct task_range head = *range;

    if (last >= range->last) {
        range->first = range->last + 1;
        return head;
    }
    if (last < range->first) {
        head.last = head.first - 1;
        return head;
    }
    head.last = last - (last - range->first) % range->step;
    range->first = head.last + range->step;
    return head;
}

/* ------------------------------------------ two ranges of one interval */

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The multiplicative inverse of `a` modulo m. */
static uint64_t
inverse(uint64_t a, uint64_t m)
{
    int64_t x = 1, y = 0;
    uint64_t b = m;

    a %= m;
    while (a > 1 && b != 0) {
        const uint64_t times = a / b, rest = a % b;
        const int64_t next = x - (int64_t)times * y;

        a = b;
        b = rest;
        x = y;
        y = next;
    }
    return m == 1 ? 0 : (uint64_t)(x < 0 ? x + (int64_t)m : x);
}

/* The ids that both ranges have, by the Chinese remainder theorem. No id and no
 * step is above TASK_ID_MOST, so a product of two fits into 64 unsigned bits.
 */
static struct task_range
common(const struct task_range *p, const struct task_range *q)
{
    const struct task_range *low = p->first <= q->first ? p : q;
    const struct task_range *high = low == p ? q : p;
    const uint64_t s = (uint64_t)low->step, t = (uint64_t)high->step;
    const uint64_t g = common_divisor(s, t), distance = (uint64_t)(high->first - low->first);
    const uint64_t end = (uint64_t)(p->last < q->last ? p->last : q->last);
    const uint64_t step = s / g * t;
    struct task_range none = {.first = 1, .last = 0, .step = 1};
    uint64_t times, first;

    if (is_empty(p) || is_empty(q) || distance % g != 0)
        return none;
    times = distance / g % (t / g) * inverse(s / g, t / g) % (t / g);
    first = (uint64_t)low->first + s * times;
    if (first < (uint64_t)high->first)
        first += ((uint64_t)high->first - first + step - 1) / step * step;
    if (first > end)
        return none;
    return (struct task_range){.first = (int64_t)first,
                               .last = (int64_t)(first + (end - first) / step * step),
                               .step = first + step > end ? 1 : (int64_t)step};
}

/* Emits the ids of p without those of `both`; `both` has every n-th id of p. */
static void
subtract_pair(struct range_pieces *out, struct task_range p, const struct task_range *both)
{
    const int64_t s = p.step, wide = both->step;
    struct task_range head = cut(&p, both->first - 1);

    emit(out, head.first, head.last, s);
    if (wide == 2 * s)
        emit(out, both->first + s, both->last - s, wide);
    else if (wide > s)
        for (int64_t at = both->first; at < both->last && !is_full(out); at += wide)
            emit(out, at + s, at + wide - s, s);
    cut(&p, both->last);
    emit(out, p.first, p.last, s);
}

/* Whether `both`, the common ids, includes all ids of the range. */
static bool
is_all(const struct task_range *both, const struct task_range *range)
{
    return both->first == range->first && both->last == range->last
           && (both->step == range->step || range->first == range->last);
}

static void
unite_pair(struct range_pieces *out, struct task_range p, struct task_range q,
           const struct task_range *both)
{
    const int64_t apart = p.first < q.first ? q.first - p.first : p.first - q.first;

    if (is_all(both, &p))
        p.first = p.last + 1;
    else if (is_all(both, &q))
        q.first = q.last + 1;
    else if (!is_empty(&p) && !is_empty(&q) && p.step == q.step && 2 * apart == p.step) {
        emit(out, p.first < q.first ? p.first : q.first, p.last > q.last ? p.last : q.last, apart);
        return;
    }
    while (!is_empty(&p) && !is_empty(&q) && !is_full(out)) {
        struct task_range head;

        if (p.first == q.first)
            cut(&q, q.first);
        else {
            head = p.first < q.first ? cut(&p, q.first - 1) : cut(&q, p.first - 1);
            emit(out, head.first, head.last, head.step);
        }
    }
    emit(out, p.first, p.last, p.step);
    emit(out, q.first, q.last, q.step);
}

static void
combine_pair(struct range_pieces *out, struct task_range p, struct task_range q,
             enum range_operation operation)
{
    const struct task_range both = common(&p, &q);

    if (operation == UNITE)
        unite_pair(out, p, q, &both);
    else if (operation == INTERSECT)
        emit(out, both.first, both.last, both.step);
    else if (is_empty(&both))
        emit(out, p.first, p.last, p.step);
    else
        subtract_pair(out, p, &both);
}

/* -------------------------------------------------------- the lists */

/* Loads the next range of the list if the current one is empty. */
static bool
fetch(const struct task_list *list, size_t *next, struct task_range *range)
{
    if (is_empty(range) && *next < list->count)
        *range = list->ranges[(*next)++];
    return !is_empty(range);
}

static int
combine(struct arena *arena, const struct task_list *a, const struct task_list *b,
        enum range_operation operation, struct task_list *ret_list, struct error *err)
{
    struct range_pieces out = {.arena = arena};
    struct task_range p = {.first = 1}, q = {.first = 1}, head;
    size_t next_a = 0, next_b = 0;

    for (;;) {
        const bool has_p = fetch(a, &next_a, &p), has_q = fetch(b, &next_b, &q);

        if (is_full(&out) || (!has_p && !has_q))
            break;
        if (has_p && (!has_q || p.first < q.first)) {
            head = cut(&p, has_q ? q.first - 1 : p.last);
            if (operation != INTERSECT)
                emit(&out, head.first, head.last, head.step);
        } else if (!has_p || q.first < p.first) {
            head = cut(&q, has_p ? p.first - 1 : q.last);
            if (operation == UNITE)
                emit(&out, head.first, head.last, head.step);
        }
        if (!is_empty(&p) && !is_empty(&q)) {
            const int64_t end = p.last < q.last ? p.last : q.last;

            head = cut(&p, end);
            combine_pair(&out, head, cut(&q, end), operation);
        }
    }
    if (is_full(&out))
        return error_set(err, -EINVAL,
                         "these lists of tasks result in more than %zu ranges "
                         "together; use lists with equal steps",
                         PIECES_MOST);
    return task_list_of_ranges(arena, out.items, out.count, ret_list, err);
}

int
task_sets_unite(struct arena *arena, const struct task_list *a, const struct task_list *b,
                struct task_list *ret_list, struct error *err)
{
    return combine(arena, a, b, UNITE, ret_list, err);
}

int
task_sets_intersect(struct arena *arena, const struct task_list *a, const struct task_list *b,
                    struct task_list *ret_list, struct error *err)
{
    return combine(arena, a, b, INTERSECT, ret_list, err);
}

int
task_sets_subtract(struct arena *arena, const struct task_list *a, const struct task_list *b,
                   struct task_list *ret_list, struct error *err)
{
    return combine(arena, a, b, SUBTRACT, ret_list, err);
}
