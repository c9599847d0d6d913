/* SPDX-License-Identifier: Apache-2.0 */
/* conformance.h - requests that the replay of recordings needs beside the API
 *
 *   POST /conformance/compact   forgets the history, as a compaction does
 *   POST /conformance/load      {"items": [...]}: stores the objects as they
 *                               are, without defaults, admission, validation;
 *                               one with "$removed": true is removed
 *
 * Only the profile for conformance has these paths (api_profiles.c).
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* Returns false when the path is none of these. Otherwise the request is
 * finished with request_finish or request_finish_durably. q->text is set.
 */
bool conformance_serve(struct request *q, const char *path);
