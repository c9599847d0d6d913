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

struct json;
struct object;
struct request;

/* Adds a name of the request's object to check before the answer. Copied. */
void name_check_add(struct request *q, const char *name, bool is_group);

/* The same for the lists of users, groups and accounts in the spec of an object that a person
 * creates or updates, as far as they have changed. Accounts are known at once, and get the
 * names of their namespaces. Returns true.
 */
bool name_check_add_lists(struct request *q, struct json *tree, const struct object *old_object,
                          const char *users, const char *groups, const char *accounts);
