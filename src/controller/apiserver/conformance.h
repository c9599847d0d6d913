/* SPDX-License-Identifier: Apache-2.0 */
/* conformance.h - what replaying recordings needs beside the API
 *
 *   POST /conformance/compact   forgets the history, as a compaction does
 *   POST /conformance/load      {"items": [...]}: stores the objects as they
 *                               stand, past defaults, admission, validation;
 *                               one with "$removed": true is taken out
 *
 * Served by kiln-controller --conformance alone.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* False: the path is none of these. Else the request ends with request_finish
 * or request_finish_durably. The text of the body is set.
 */
bool conformance_serve(struct request *q, const char *path);
