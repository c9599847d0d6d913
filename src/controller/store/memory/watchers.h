/* SPDX-License-Identifier: Apache-2.0 */
/* watchers.h - who follows which changes: by kind, or by kind and a value
 *
 * Ten thousand watchers of one value each cost a change two look-ups in a
 * hash. A watcher may come and go while changes are told.
 *
 * Owns:       every struct store_watch.
 * Thread:     the loop's.
 * Invariant:  a watcher hears every change behind its revision once, in order.
 */
#pragma once

#include <stdint.h>

#include "controller/store/memory/store_types.h"
#include "lib/base/macro.h"

struct change;
struct change_log;
struct watchers;

/* Life. Freeing ends all watches; their handles are gone. */
void watchers_free(struct watchers *w);
struct watchers *watchers_new(void) OWNED_BY(watchers_free);

/* Change. Add tells what the change log has behind `revision`; *ret_watch is
 * set before that. `index` is -1 or one of the kind's.
 */
struct watch_request {
    const struct kind *kind;
    int index;
    const char *value;
    int64_t revision;
    store_change_fn *changed;
    void *context;
};
void watchers_add(struct watchers *w,
                  const struct change_log *change_log,
                  const struct watch_request *request,
                  struct store_watch **ret_watch);
void watchers_remove(struct store_watch *watch);

/* Tells a change that has been published. */
void watchers_notify(struct watchers *w, const struct change *change);
