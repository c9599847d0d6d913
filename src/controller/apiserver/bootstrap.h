/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap.h - what every cluster has from the start: its namespaces, the
 * system's priority classes, a partition with all nodes
 *
 * Thread:  the loop's.
 */
#pragma once

struct apiserver;

/* Creates the missing ones, with requests of the lifecycle component. After
 * that creates a partition for each new label kiln.hpc/partition of a node,
 * until bootstrap_stop, which comes before the store is closed.
 */
void bootstrap(struct apiserver *server);
void bootstrap_stop(struct apiserver *server);
