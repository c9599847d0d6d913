/* SPDX-License-Identifier: Apache-2.0 */
/* node_fencing.h - switches silent nodes off by the site's program
 *
 * The program gets the node's name and exits with 0 only when the node is
 * certainly off. Only then may the node be fenced, and its jobs start
 * elsewhere. A few programs run at a time; a failure is an Event of the node,
 * and the program is run again later.
 *
 * Owns:       the programs that run, and the nodes that wait for one.
 * Called by:  node_health.c, which decides and writes the fence.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock;
struct event_recorder;
struct loop;
struct node_fencing;
struct object_cache;

struct node_fencing_settings {
    struct loop *loop;
    struct clock *clock;
    struct object_cache *cache;
    struct event_recorder *event_recorder;
    const char *program;
    int64_t limit_ms;
    /* Whether the node is still to be switched off, when its turn comes. */
    bool (*is_wanted)(const char *node, void *context);
    /* The program has ended: the node is off, or is to be tried again later. */
    void (*changed)(const char *node, void *context);
    void *context;
};

/* Life. Free kills the programs that run. */
void node_fencing_free(struct node_fencing *f);
struct node_fencing *node_fencing_new(const struct node_fencing_settings *settings)
    OWNED_BY(node_fencing_free);
DEFINE_CLEANUP(struct node_fencing, node_fencing_free)

/* Has the program run for the node, unless that is under way or done. Returns after how many
 * milliseconds to call again because it has failed; 0: it has not.
 */
int64_t node_fencing_start(struct node_fencing *f, const char *node);

/* The node reports again, is fenced or is gone. A program that runs goes on, but its result
 * does not count.
 */
void node_fencing_forget(struct node_fencing *f, const char *node);

/* Whether the program has succeeded, so that the fence is to be written. */
bool node_fencing_is_off(const struct node_fencing *f, const char *node);
