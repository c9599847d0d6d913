/* SPDX-License-Identifier: Apache-2.0 */
/* outage.h - one line to the user when what he waits for cannot be heard of
 *
 * An informer carries on over a restart of the controller by itself; after a
 * second of that the user is told, and once more when it is over.
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct informer;
struct loop;
struct outage;

/* Life. Program: whose line it is, "kctl: wait". All are borrowed. */
void outage_free(struct outage *outage);
struct outage *outage_new(struct loop *loop,
                          const struct informer *informer,
                          const char *program) OWNED_BY(outage_free);
