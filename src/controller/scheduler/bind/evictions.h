/* SPDX-License-Identifier: Apache-2.0 */
/* evictions.h - ends pods so that others may run
 *
 * A victim first gets the reason (the condition DisruptionTarget, an event),
 * and is then deleted with a grace period. It keeps what it holds until it is
 * gone.
 *
 * Owns:    the calls under way.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/policy/partition.h"
#include "lib/base/macro.h"

struct client;
struct clock;
struct evictions;
struct pod_view;

struct evictions_settings {
    struct client *client;
    struct clock *clock;
    /* An eviction begins. The message is for the victim's event. */
    void (*begins)(struct pod_view *victim, const char *message, void *context);

    /* An eviction has ended. If it has failed, the victim stays, and the preemptor needs another
     * place.
     */
    void (*ended)(const struct pod_view *preemptor, bool has_failed, int64_t took_us,
                  void *context);

    void *context;
};

void evictions_free(struct evictions *e);
struct evictions *evictions_new(const struct evictions_settings *settings) OWNED_BY(evictions_free);
DEFINE_CLEANUP(struct evictions, evictions_free)

/* Ignored if an eviction of the victim is under way. Grace: in seconds; 0: the
 * victim's own grace period.
 */
void evictions_add(struct evictions *e, struct pod_view *victim, struct pod_view *preemptor,
                   const char *node_name, enum partition_preemption mode, int64_t grace_s);

/* Example: "job 51 of u2". The victim's owner may know who preempts, not
 * what.
 */
char *evictions_describe(const struct pod_view *preemptor);

/* Some victims of the pod have no deletion time yet, so they look as if they
 * would stay.
 */
bool evictions_has_preemptor(const struct evictions *e, const struct pod_view *preemptor);
