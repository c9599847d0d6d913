/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - sends to all channels that have something to send, together
 *
 * A thousand watchers of one kind get the same lines. The lines that arrive for
 * them in one turn of the loop are joined once, and sent to each by reference,
 * in one system call. After a round, the next one waits for as long as that
 * round took (at most 20 ms): the more there is to send, the more is sent at
 * once.
 *
 * Owns:    the lines it joined last; borrows the channels.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/list.h"
#include "lib/base/macro.h"

struct dispatch;
struct frame;
struct loop;

/* A member of each channel. */
struct dispatch_entry {
    struct list link;
    bool is_planned;
};
typedef void dispatch_fn(struct dispatch_entry *entry);

/* Life. When free is called, no entry is planned any more. */
void dispatch_free(struct dispatch *dispatch);
struct dispatch *dispatch_new(struct loop *loop, dispatch_fn *flush) OWNED_BY(dispatch_free);

/* Planned entries are flushed at the end of the turn or a little later;
 * dispatch_forget cancels that.
 */
void dispatch_plan(struct dispatch *dispatch, struct dispatch_entry *entry);
void dispatch_forget(struct dispatch_entry *entry);

/* Joins the frames into one, which is borrowed until the next call. Only for
 * frames that are sent to other channels, too.
 */
#define DISPATCH_JOINED 64
struct frame *dispatch_join(struct dispatch *dispatch, struct frame *const *frames, size_t n);
