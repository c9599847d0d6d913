/* SPDX-License-Identifier: Apache-2.0 */
/* fake_client.h - a client whose API is a map in memory
 *
 * Create, get, list, replace, patch and delete of any kind; pods' binding, one
 * by one and as a BindingList; watches. Nothing happens until fake_client_run, which answers calls and
 * delivers events in the order in which they came about, so that a test
 * decides when the API is fast or slow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/client/client.h"

struct fake_client;
struct object;

/* Life. The client is the fake's own: client_free does nothing. */
void fake_client_free(struct fake_client *fake);
struct fake_client *fake_client_new(void) OWNED_BY(fake_client_free);
DEFINE_CLEANUP(struct fake_client, fake_client_free)
struct client *fake_client_client(struct fake_client *fake);

/* The test's own hand: JSON text to an object that is there (normalized, with
 * uid and revision; what was there is replaced), and away with it. Borrowed.
 */
const struct object *fake_client_put(struct fake_client *fake,
                                     const struct kind *kind,
                                     const char *json);
void fake_client_remove(struct fake_client *fake,
                        const struct kind *kind,
                        const char *namespace,
                        const char *name);

/* Runs until nothing is left to answer or deliver. */
void fake_client_run(struct fake_client *fake);

/* Calls under way are carried out, and their answers reach nobody: as when the
 * caller was killed.
 */
void fake_client_forget_callers(struct fake_client *fake);

/* While they are held, watches bring nothing: what happens waits its turn. */
void fake_client_hold_watches(struct fake_client *fake, bool held);

/* What they hold comes in another order, and some of it twice: 32 events of one
 * watch at the most. Visit: in the order in which it will come.
 */
void fake_client_shuffle_watches(struct fake_client *fake, uint64_t seed);
typedef void fake_client_held_fn(enum client_event_type type,
                                 const struct object *object,
                                 int64_t revision,
                                 void *context);
void fake_client_visit_held(const struct fake_client *fake,
                            fake_client_held_fn *visit,
                            void *context);

/* All watches end as too old, without what they still had to bring: whoever
 * follows has to list again.
 */
void fake_client_expire_watches(struct fake_client *fake);

/* The next call with that verb and subresource (NULL: none) fails so. */
void fake_client_fail(struct fake_client *fake,
                      enum client_verb verb,
                      const char *subresource,
                      int code,
                      const char *reason);

/* The next one is answered by that text, for who asks for it raw. */
void fake_client_answer(struct fake_client *fake,
                        enum client_verb verb,
                        const char *subresource,
                        int code,
                        const char *text);

/* Look. Find: borrowed, or NULL. */
const struct object *fake_client_find(const struct fake_client *fake,
                                      const struct kind *kind,
                                      const char *namespace,
                                      const char *name);
size_t fake_client_count(const struct fake_client *fake,
                         const struct kind *kind);
unsigned fake_client_calls(const struct fake_client *fake,
                           enum client_verb verb,
                           const char *subresource);
