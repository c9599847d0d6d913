/* SPDX-License-Identifier: Apache-2.0 */
/* controllers.h - GET /kiln/v1/controllers: which controller of a replicated store
 * leads, and which wait; POST /kiln/v1/controllers/handover: another one shall lead
 *
 *   {"inDatabase": true, "controllers": [{"name": "head1", "state": "Leading",
 *     "since": "2026-11-29T10:00:00Z", "address": "head1:6820", "release": "0.1.0",
 *     "stateDirectory": "/var/lib/kiln", "silentSeconds": 1}, ...]}
 *
 * A state is Leading, Waiting, or Silent. All users may ask, since they need the
 * addresses; only administrators hand over, with "?to=NAME" or to any that waits.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* Returns false when the path is another. Otherwise the request will be finished.
 * `to` is the value of that parameter, or NULL.
 */
bool controllers_serve(struct request *q, const char *path, const char *to);
