/* SPDX-License-Identifier: Apache-2.0 */
/* dependency_chain.h - the jobs that a job depends on, those that these depend
 * on, and so on
 *
 * The chain has only numbers and states, which every user may see of every job.
 * Its length is bounded.
 *
 * Thread:  the loop's.
 */
#pragma once

struct apiserver;
struct arena;
struct json;
struct object;

/* [{"job": 1042, "dependency": "afterok:1041", "state": "Running"}, ...] says
 * that job 1042 depends on 1041, which is running; without a state, 1041 is
 * gone. The dependencies of the job itself come first. NULL: the job depends on
 * no other.
 */
struct json *dependency_chain(const struct apiserver *server, const struct object *job,
                              struct arena *arena);
