/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_identity.h - which cluster this node belongs to, and the cluster's
 * latest mark
 *
 * The file `cluster` in the state directory holds the cluster's uid and the
 * latest mark (see controller/apiserver/marks/cluster_mark.c). `cluster.unmarked`
 * holds revisions of pods here that are above the last mark of the controller
 * that issued them, as long as there are such pods. An agent without
 * the file learns both from the first controller that it asks. The agent obeys
 * a controller only after it knows that the controller serves this cluster, so
 * that a foreign or an empty store ends no job here.
 *
 * Owns:    the files; borrows the client.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct client;
struct cluster_identity;
struct json;
struct loop;

enum cluster_answer {
    CLUSTER_OURS, /* our cluster, or a release without marks */
    /* our cluster, but its store has lost revisions since the last answer */
    CLUSTER_OLDER,
    CLUSTER_FOREIGN, /* another cluster */
    CLUSTER_REFUSED, /* the controller rejects this node's proof */
    CLUSTER_UNKNOWN, /* no answer; the request is repeated automatically */
};

struct cluster_identity_settings {
    struct loop *loop;
    struct client *client;
    const char *node;
    const char *state_dir;
    int64_t every_ms; /* interval of the checks after the first answer */
    /* Whether a pod here was last seen at a revision between the two. Or NULL. */
    bool (*holds)(int64_t after, int64_t before, void *context);
    /* The pods here, for a controller whose store may lack their bindings. Or NULL. */
    struct json *(*list_pods)(struct arena *arena, void *context);
    /* With that: the pods that have ended here at revisions that the store has lost. */
    struct json *(*list_ended)(struct arena *arena, void *context);
    void (*answered)(enum cluster_answer answer, void *context);
    void *context;
};

/* Life */
void cluster_identity_free(struct cluster_identity *cluster);
struct cluster_identity *cluster_identity_new(const struct cluster_identity_settings *settings)
    OWNED_BY(cluster_identity_free);

/* Asks now, or once more after the answer to a request that is under
 * way.
 */
void cluster_identity_ask(struct cluster_identity *cluster);

/* Asks as soon as the controller answers. Note interruption: because the watch of
 * pods was lost; another controller, or another store, may serve the next one.
 */
void cluster_identity_ask_soon(struct cluster_identity *cluster);
void cluster_identity_note_interruption(struct cluster_identity *cluster);

/* A pod of that revision is here: the mark is renewed soon if it is below. */
void cluster_identity_note_revision(struct cluster_identity *cluster, int64_t revision);

/* Has_lost: whether the cluster's store has lost that revision, by the
 * last answer, or may have, because no mark of the controller that issued it was
 * received. Is_settling: whether the store may still learn from other nodes what
 * it has lost; another answer follows soon.
 */
bool cluster_identity_is_settling(const struct cluster_identity *cluster);
bool cluster_identity_has_lost(const struct cluster_identity *cluster, int64_t revision);
