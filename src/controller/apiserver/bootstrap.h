/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap.h - what every cluster has from the start: its namespaces, and the
 * priority classes of the system
 *
 * Thread:  the loop's.
 */
#pragma once

struct apiserver;

/* Creates those that are missing, as requests of the lifecycle. */
void bootstrap(struct apiserver *server);
