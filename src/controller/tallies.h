/* SPDX-License-Identifier: Apache-2.0 */
/* tallies.h - the counts that the API server has of all objects, which move with them
 *
 * Called by:  controller.c.
 * Thread:     the main one.
 */
#pragma once

struct job_counts;
struct node_classes;
struct node_uses;
struct object;
struct user_counts;

struct tallies {
    struct user_counts *users;
    struct job_counts *jobs;
    struct node_uses *node_uses;
    struct node_classes *node_classes;
};

void tallies_init(struct tallies *tallies);
void tallies_fini(struct tallies *tallies);

/* Of store_settings; the context is the tallies. */
void tallies_moved(const struct object *before, const struct object *after, void *context);
