/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap.h - what every cluster has from the start: its namespaces, the
 * priority classes of the system, a partition over all nodes
 *
 * Thread:  the loop's.
 */
#pragma once

struct apiserver;

/* Creates those that are missing, as requests of the lifecycle; from then on a
 * partition for each label kiln.hpc/partition that a node gets, until stopped,
 * before the store closes.
 */
void bootstrap(struct apiserver *server);
void bootstrap_stop(struct apiserver *server);
