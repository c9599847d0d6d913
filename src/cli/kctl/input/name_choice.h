/* SPDX-License-Identifier: Apache-2.0 */
/* name_choice.h - selects the objects of a list that operands name; all of them
 * if there are no operands
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct error;
struct json;

bool name_choice_has(const struct json *object, int n_names, char **names);

/* -ENOENT with a text for the first name that no object of the list has; `what`
 * is the noun in the text ("partition").
 */
int name_choice_check(const struct json *objects, const char *what, int n_names, char **names,
                      struct error *err);
