/* SPDX-License-Identifier: Apache-2.0 */
/* name_check.h - an answer that warns of users and groups that nobody knows
 *
 * The names are looked up by a worker when the request has succeeded; then the
 * answer goes out with a warning. It waits two seconds at most: a directory of
 * users that does not answer is said, and refuses nothing.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;

/* A name of the request's object: checked once the request is answered. Copied. */
void name_check_add(struct request *q, const char *name, bool is_group);
