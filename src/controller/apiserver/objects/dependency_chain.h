/* SPDX-License-Identifier: Apache-2.0 */
/* dependency_chain.h - the jobs that a job waits for, those that these wait for,
 * and so on
 *
 * Numbers and states alone, which everybody sees of every job; some lines of it,
 * however long it is.
 *
 * Thread: the loop's.
 */
#pragma once

struct apiserver;
struct arena;
struct json;
struct object;

/* [{"job": 1042, "dependency": "afterok:1041", "state": "Running"}, ...]: that
 * job 1042 waits for 1041, which runs; without a state: it is gone. Those of the
 * job itself come first. NULL: it waits for no other.
 */
struct json *dependency_chain(const struct apiserver *server,
                              const struct object *job,
                              struct arena *arena);
