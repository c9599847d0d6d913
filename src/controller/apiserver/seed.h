/* SPDX-License-Identifier: Apache-2.0 */
/* seed.h - what every cluster has from the start: its namespaces, and the
 * priority classes of the system
 */
#pragma once

struct apiserver;

/* Creates those that are missing, as requests of the lifecycle. */
void seed(struct apiserver *server);
