/* SPDX-License-Identifier: Apache-2.0 */
/* fake_client.h - a client whose API is a map in memory
 *
 * Create, get, list, replace, patch and delete of any kind; bindings of pods,
 * one by one and as a BindingList; watches. Nothing happens until
 * fake_client_run, which answers calls and delivers events in the order in
 * which they occurred, so that a test decides when the API is fast or slow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/client/client.h"

struct fake_client;
struct object;

/* Life. The fake owns the client: client_free does nothing. */
void fake_client_free(struct fake_client *fake);
struct fake_client *fake_client_new(void) OWNED_BY(fake_client_free);
DEFINE_CLEANUP(struct fake_client, fake_client_free)
struct client *fake_client_client(struct fake_client *fake);

/* Changes by the test: fake_client_put stores an object from JSON text
 * (normalized, with uid and revision; it replaces a former one) and returns it,
 * borrowed; fake_client_remove deletes one.
 */
const struct object *fake_client_put(struct fake_client *fake, const struct kind *kind,
                                     const char *json);
void fake_client_remove(struct fake_client *fake, const struct kind *kind, const char *namespace,
                        const char *name);

/* Runs until no call and no event is left. */
void fake_client_run(struct fake_client *fake);

/* Executes pending calls without answers to the callers, as when these were
 * killed.
 */
void fake_client_forget_callers(struct fake_client *fake);

/* While watches are held, they deliver nothing; their events are kept. */
void fake_client_hold_watches(struct fake_client *fake, bool held);

/* Reorders held events, and repeats some: at most 32 events of one watch.
 * fake_client_visit_held visits them in the order of their delivery.
 */
void fake_client_shuffle_watches(struct fake_client *fake, uint64_t seed);
typedef void fake_client_held_fn(enum client_event_type type, const struct object *object,
                                 int64_t revision, void *context);
void fake_client_visit_held(const struct fake_client *fake, fake_client_held_fn *visit,
                            void *context);

/* Ends all watches as too old, without their pending events: informers have to
 * list again.
 */
void fake_client_expire_watches(struct fake_client *fake);

/* The next call with that verb and subresource (NULL: none) fails with that
 * code and reason.
 */
void fake_client_fail(struct fake_client *fake, enum client_verb verb, const char *subresource,
                      int code, const char *reason);

/* The next such call, which must be raw, gets that text as answer. */
void fake_client_answer(struct fake_client *fake, enum client_verb verb, const char *subresource,
                        int code, const char *text);

/* Look. fake_client_find returns a borrowed object, or NULL. */
const struct object *fake_client_find(const struct fake_client *fake, const struct kind *kind,
                                      const char *namespace, const char *name);
size_t fake_client_count(const struct fake_client *fake, const struct kind *kind);
unsigned fake_client_calls(const struct fake_client *fake, enum client_verb verb,
                           const char *subresource);
