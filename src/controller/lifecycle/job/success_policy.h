/* SPDX-License-Identifier: Apache-2.0 */
/* success_policy.h - whether enough indexes are done: a pure function
 *
 * Thread:  any; a pure function.
 * See: upstream's successPolicy of 1.32.
 */
#pragma once

struct index_set;
struct job;

/* The first rule of spec.successPolicy that is met; -1: none, or no policy. */
int success_policy_judge(const struct job *job, const struct index_set *done);
