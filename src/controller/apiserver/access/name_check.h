/* SPDX-License-Identifier: Apache-2.0 */
/* name_check.h - a warning about unknown users and groups in an answer
 *
 * When the request has succeeded, a worker looks up the names, and the answer
 * is sent with a warning. It waits two seconds at most: if the directory of
 * users does not answer, the warning says so, and nothing is refused.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* Adds a name of the request's object to check before the answer. Copied. */
void name_check_add(struct request *q, const char *name, bool is_group);
