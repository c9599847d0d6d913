/* SPDX-License-Identifier: Apache-2.0 */
/* parse_template.h - reads texts that differ only in values without parsing
 * them
 *
 * Objects of one sort, printed by json_print, have the same members in the same
 * order and differ only in strings and numbers. A template is made from the
 * first such text. The next text is compared with the first, and where they
 * differ its value is put into the tree: this takes a fifth of the time of
 * parsing.
 *
 * Owns:    the tree, a copy of the first text, the values of the last.
 * Thread:  one at a time.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct json;
struct parse_template;

/* Life. New: NULL when json_print would not have printed the text. */
void parse_template_free(struct parse_template *t);
struct parse_template *parse_template_new(const char *text, size_t length);
DEFINE_CLEANUP(struct parse_template, parse_template_free)

/* The tree of the text, valid until the next call; do not edit it, but copy it
 * (json_dup). NULL: parse the text instead, because it has another form or
 * values that only the parser can check.
 */
const struct json *parse_template_apply(struct parse_template *t, const char *text, size_t length);
