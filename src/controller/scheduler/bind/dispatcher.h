/* SPDX-License-Identifier: Apache-2.0 */
/* dispatcher.h - the scheduler's writes to the API: a bounded number at a time,
 * and for each object one after the other
 *
 * For each object at most one call waits and one is under way. A call that is
 * added while another waits replaces that one if its relevance is higher or
 * equal (the later call knows more); otherwise it is dropped itself. The body
 * of a call is made when the call starts, so it contains what has changed while
 * the call waited.
 *
 * A call may be for several objects (a group's binding). It waits until no call
 * is under way for any of them, and other calls for any of them wait for it.
 *
 * Owns:    the calls.
 * Thread:  the scheduler's.
 * Source:  kube-scheduler, backend/api_dispatcher and framework/api_calls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct clock;
struct dispatched_call;
struct dispatcher;

/* A kind of call. Start makes the call, or returns NULL if nothing is left to write. `done`
 * gets the answer. Dropped says that no answer comes, because another call replaced this one
 * or nothing was left to write. Exactly one of done and dropped is called, unless the call is
 * cancelled.
 */
struct dispatch_kind {
    const char *name; /* "pod_binding" */
    int relevance;    /* a higher one replaces a lower one */
    struct client_call *(*start)(struct client *client, client_done_fn *done, void *done_context,
                                 void *context);
    void (*done)(const struct client_reply *reply, void *context);
    void (*dropped)(void *context);
};

struct dispatcher_settings {
    struct client *client;
    struct clock *clock;
    unsigned at_a_time; /* 0: 256 */
    /* A call has ended with this code. May be NULL. */
    void (*ended)(const struct dispatch_kind *kind, int code, int64_t took_us, void *context);
    void *context;
};

/* Life. Free cancels the calls and calls neither done nor dropped. */
void dispatcher_free(struct dispatcher *d);
struct dispatcher *dispatcher_new(const struct dispatcher_settings *settings)
    OWNED_BY(dispatcher_free);
DEFINE_CLEANUP(struct dispatcher, dispatcher_free)

/* Returns the call, which is valid until it is done, dropped or cancelled; NULL: it was
 * dropped at once. The key names the object that the call is for.
 */
struct dispatched_call *dispatcher_add(struct dispatcher *d, const char *key,
                                       const struct dispatch_kind *kind, void *context);

/* Adds a call for several objects; all keys differ. */
struct dispatched_call *dispatcher_add_for_all(struct dispatcher *d, const char *const *keys,
                                               unsigned n_keys, const struct dispatch_kind *kind,
                                               void *context);

void dispatch_cancel(struct dispatched_call *call);

/* While held, no call starts. Calls under way still get their answers. */
void dispatcher_hold(struct dispatcher *d, bool is_held);

/* How many calls of a kind, or of all kinds (NULL), wait. */
size_t dispatcher_waiting(const struct dispatcher *d, const struct dispatch_kind *kind);
