/* SPDX-License-Identifier: Apache-2.0 */
/* time_share.h - limits the share of a thread's time that some work may take
 *
 * Work may take at most `most_us` in each `window_us`. Work that began within
 * the limit may end beyond it, and the windows that follow are charged for it.
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
    int64_t spent_us; /* in this window, with the debt of earlier ones */
    int64_t began_us; /* start of the window */
};

/* Whether work may begin now; the time until it may, 0 for now. */
bool time_share_is_open(struct time_share *share);
int64_t time_share_wait_us(struct time_share *share);

/* Time between begin and end is charged. Pass the result of begin to end. Add
 * charges time that was measured elsewhere.
 */
int64_t time_share_begin(const struct time_share *share);
void time_share_end(struct time_share *share, int64_t began_us);
void time_share_add(struct time_share *share, int64_t took_us);

/* The processor time that the calling thread has used, for what work costs: waiting for a
 * processor on a busy machine does not count, as it does by the monotonic clock.
 */
int64_t time_share_thread_cpu_us(void);
