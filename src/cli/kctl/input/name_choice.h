/* SPDX-License-Identifier: Apache-2.0 */
/* name_choice.h - of the objects of a list, those that operands name; without
 * operands all
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct error;
struct json;

bool name_choice_has(const struct json *object, int n_names, char **names);

/* -ENOENT with words for the first name that no object of the list has; `what`
 * says of what ("partition").
 */
int name_choice_check(const struct json *objects,
                      const char *what,
                      int n_names,
                      char **names,
                      struct error *err);
