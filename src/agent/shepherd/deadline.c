/* SPDX-License-Identifier: Apache-2.0 */
/* Time limit, deletion, warning and checkpoint can meet in any order, be repeated, extended or
 * frozen. As a pure function of limits and time every combination is a line of a test; a
 * supervisor that kept timers for each would have to cancel the right ones.
 */
#include "agent/shepherd/deadline.h"

#define LAST_GRACE_US INT64_C(5000000)

static int64_t
plus(int64_t a, int64_t b)
{
    int64_t sum;

    return a == DEADLINE_NEVER || b == DEADLINE_NEVER || __builtin_add_overflow(a, b, &sum)
               ? DEADLINE_NEVER
               : sum;
}

static int64_t
earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
limit_at(const struct deadline *d)
{
    return d->is_frozen ? DEADLINE_NEVER : plus(d->started_us, d->limit_us);
}

enum deadline_action
deadline_next(const struct deadline *d, int64_t now_us, int64_t *ret_next_us)
{
    int64_t limit = limit_at(d);
    int64_t warn = d->warn_us > 0 && limit != DEADLINE_NEVER ? limit - d->warn_us : DEADLINE_NEVER;
    int64_t terminate = earlier(limit, d->delete_us);
    int64_t kill = earlier(plus(limit, d->grace_us), plus(d->delete_us, d->delete_grace_us));
    int64_t next = DEADLINE_NEVER;

    if (d->killed) {
        *ret_next_us = DEADLINE_NEVER;
        return DEADLINE_WAIT;
    }
    if (kill <= now_us)
        return DEADLINE_KILL;
    if (!d->terminated && terminate <= now_us)
        return DEADLINE_TERMINATE;
    if (!d->terminated && !d->warned && warn <= now_us)
        return DEADLINE_WARN;
    if (!d->terminated && !d->warned)
        next = earlier(next, warn);
    if (!d->terminated)
        next = earlier(next, terminate);
    *ret_next_us = earlier(next, kill);
    return DEADLINE_WAIT;
}

/* The warning is repeated before a limit that is extended. */
void
deadline_set_limit(struct deadline *d, int64_t limit_us, int64_t now_us)
{
    if (d->terminated || d->killed)
        return;
    if (d->is_frozen)
        now_us = d->frozen_at_us;
    if (plus(d->started_us, limit_us) < now_us)
        limit_us = now_us - d->started_us;
    if (limit_us > d->limit_us)
        d->warned = false;
    d->limit_us = limit_us;
}

void
deadline_freeze(struct deadline *d, int64_t now_us)
{
    if (d->is_frozen)
        return;
    d->is_frozen = true;
    d->frozen_at_us = now_us;
}

int64_t
deadline_thaw(struct deadline *d, int64_t now_us)
{
    int64_t lasted = now_us - d->frozen_at_us;

    if (!d->is_frozen)
        return 0;
    d->is_frozen = false;
    d->started_us += lasted;
    return lasted;
}

int64_t
deadline_last_us(int64_t grace_us)
{
    return earlier(grace_us / 2, LAST_GRACE_US);
}

bool
deadline_is_exceeded(const struct deadline *d, int64_t now_us)
{
    int64_t limit = limit_at(d);

    return limit <= now_us && limit <= d->delete_us;
}
