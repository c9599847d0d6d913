/* SPDX-License-Identifier: Apache-2.0 */
/* watchers.h - the watches: of a kind, or of a kind and a value
 *
 * With ten thousand watchers of one value each, a change costs two hash
 * look-ups. Watches may be added and removed while a change is being reported.
 *
 * Owns:       every struct store_watch.
 * Thread:     the loop's.
 * Invariant:  a watch gets every change after its revision once, in order.
 */
#pragma once

#include <stdint.h>

#include "controller/store/memory/store_types.h"
#include "lib/base/macro.h"

struct change;
struct change_log;
struct store_watch;
struct watchers;

/* Life. Free ends all watches and invalidates their handles. */
void watchers_free(struct watchers *w);
struct watchers *watchers_new(void) OWNED_BY(watchers_free);

/* Add reports the log's changes after `revision`; *ret_watch is set
 * before that. `index` is -1 or one of the kind's.
 */
struct watch_request {
    const struct kind *kind;
    int index;
    const char *value;
    int64_t revision;
    store_change_fn *changed;
    void *context;
};
void watchers_add(struct watchers *w, const struct change_log *change_log,
                  const struct watch_request *request, struct store_watch **ret_watch);
void watchers_remove(struct store_watch *watch);

/* Reports a change that has been published. */
void watchers_notify(struct watchers *w, const struct change *change);
