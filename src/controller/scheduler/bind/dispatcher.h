/* SPDX-License-Identifier: Apache-2.0 */
/* dispatcher.h - the scheduler's writes to the API: a bounded number at a time,
 * and of each object one after the other
 *
 * For each object one call at most waits and one is under way. A call that
 * comes while another waits takes its place when it matters more, or as much
 * (the later one knows more); else it is dropped itself. The body of a call is
 * made when the call starts, so one that waits can be brought up to date.
 *
 * A call may be of several objects (a group's binding): it waits until no call
 * is under way for any of them, and others of any of them wait for it.
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

/* A kind of call. Start makes the call, or returns NULL where nothing is left
 * to write. Done gets the answer. Dropped says that no answer comes, because
 * another call took its place or nothing was left to write. Exactly one of done
 * and dropped is called, unless the call is cancelled.
 */
struct dispatch_kind {
    const char *name; /* "pod_binding" */
    int relevance;    /* the more the higher */
    struct client_call *(*start)(struct client *client,
                                 client_done_fn *done,
                                 void *done_context,
                                 void *context);
    void (*done)(const struct client_reply *reply, void *context);
    void (*dropped)(void *context);
};

struct dispatcher_settings {
    struct client *client;
    struct clock *clock;
    unsigned at_a_time; /* 0: 256 */
    /* A call has ended so; may be NULL. */
    void (*ended)(const struct dispatch_kind *kind,
                  int code,
                  int64_t took_us,
                  void *context);
    void *context;
};

/* Life. Free cancels what is under way; nobody is told. */
void dispatcher_free(struct dispatcher *d);
struct dispatcher *dispatcher_new(const struct dispatcher_settings *settings)
    OWNED_BY(dispatcher_free);
DEFINE_CLEANUP(struct dispatcher, dispatcher_free)

/* Change. Add: the call, good until done, dropped or cancelled; NULL where it
 * was dropped at once. The key says which object it is of. Add for all: one of
 * several objects, no key twice.
 */
struct dispatched_call *dispatcher_add(struct dispatcher *d,
                                       const char *key,
                                       const struct dispatch_kind *kind,
                                       void *context);
struct dispatched_call *dispatcher_add_for_all(struct dispatcher *d,
                                               const char *const *keys,
                                               unsigned n_keys,
                                               const struct dispatch_kind *kind,
                                               void *context);
void dispatch_cancel(struct dispatched_call *call);

/* No call starts until it is taken back; those under way are answered. */
void dispatcher_hold(struct dispatcher *d, bool is_held);

/* Look: that wait, of a kind, or of all (NULL); that are under way. */
size_t dispatcher_waiting(const struct dispatcher *d,
                          const struct dispatch_kind *kind);
size_t dispatcher_under_way(const struct dispatcher *d);
