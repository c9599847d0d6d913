/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_plan.h - when and where the pods of a reservation would start
 *
 * Called by:  planner.c, and `why` for a job that nobody has submitted.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

struct assignment_group;
struct diagnosis;
struct planner_parts;
struct pod_view;
struct profile;
struct reservation;
struct start_answer;

/* Sets the nodes on which the pods may run once there is room. Returns false if there are
 * none.
 */
bool reservation_plan_set_nodes(const struct planner_parts *p, const struct diagnosis *d,
                                struct reservation *r);

/* Sets the domains of the nodes, for pods that must be in one domain of that label; key
 * NULL: they need not.
 */
void reservation_plan_set_domains(const struct planner_parts *p, struct reservation *r,
                                  const char *key);

/* Finds when and where the pods would start, and whether that is later or elsewhere than the
 * reservation is now. False: it is not known, or too late for their deadline. The caller
 * frees the start in any case (start_answer_fini).
 */
bool reservation_plan_find(const struct planner_parts *p, const struct reservation *r,
                           struct start_answer *ret_start, bool *ret_is_moved);

/* Whether the members are equal. Groups of different members get no
 * reservation.
 */
bool reservation_plan_are_alike(const struct planner_parts *p, const struct profile *profile,
                                struct pod_view *const *members, unsigned count);

/* A group that lacks room gets another cause if all nodes together, when they are empty,
 * have too little for it. To be called while the nodes that it has are closed.
 */
void reservation_plan_judge_group(const struct planner_parts *p, struct assignment_group *g,
                                  const struct diagnosis *d);
