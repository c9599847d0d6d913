/* SPDX-License-Identifier: Apache-2.0 */
/* time_share.h - work that may take so much of a thread's time, and no more
 *
 * Work may take at most `most_us` in each `window_us`. Work that began in time
 * may end late, and the windows that follow are charged for it.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock;

struct time_share {
    struct clock *clock;
    int64_t most_us, window_us;
    int64_t spent_us; /* of this window, and what is owed */
    int64_t began_us; /* the window */
};

/* Look: whether anything is left of it now; how long until then, 0 for now. */
bool time_share_is_open(struct time_share *share);
int64_t time_share_wait_us(struct time_share *share);

/* Between both, the time counts. Begin returns what end is given. Add: time
 * that was measured elsewhere.
 */
int64_t time_share_begin(const struct time_share *share);
void time_share_end(struct time_share *share, int64_t began_us);
void time_share_add(struct time_share *share, int64_t took_us);
