/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - channels that have something to send, all sent to together
 *
 * A thousand watchers of one kind get the same lines. Lines that came for them
 * in a turn of the loop are joined once, and sent to each by reference, in one
 * system call. A round that took a while is not followed by the next one before
 * as long again: the more there is to send, the more goes at once.
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

/* In a channel. */
struct dispatch_entry {
    struct list link;
    bool is_planned;
};
typedef void dispatch_fn(struct dispatch_entry *entry);

/* Life. Free: nothing is planned any more. */
void dispatch_free(struct dispatch *dispatch);
struct dispatch *dispatch_new(struct loop *loop, dispatch_fn *flush)
    OWNED_BY(dispatch_free);

/* Change. Planned entries are flushed at the end of the turn, or a little
 * later; forget takes one out.
 */
void dispatch_plan(struct dispatch *dispatch, struct dispatch_entry *entry);
void dispatch_forget(struct dispatch_entry *entry);

/* Borrowed until the next call: these frames as one. Only for frames that
 * others are sent, too.
 */
#define DISPATCH_JOINED 64
struct frame *
dispatch_join(struct dispatch *dispatch, struct frame *const *frames, size_t n);
