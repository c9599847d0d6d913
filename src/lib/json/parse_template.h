/* SPDX-License-Identifier: Apache-2.0 */
/* parse_template.h - one tree for texts of one form that differ in values
 *
 * Objects of one sort, printed by json_print, have the same members in the
 * same order and differ in strings and numbers alone. A template is made of the
 * first such text; the next is compared with that one, and where it differs
 * the tree gets its words: in a fifth of the time that parsing takes.
 *
 * Owns:    the tree, a copy of the first text, the words of the last.
 * Thread:  one at a time.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct json;
struct parse_template;

/* Life. New: NULL when the text is not one that json_print printed. */
void parse_template_free(struct parse_template *m);
struct parse_template *parse_template_new(const char *text, size_t length);
DEFINE_CLEANUP(struct parse_template, parse_template_free)

/* The text's tree, until the next call; not to be edited, but copied
 * (json_dup). NULL: it has another form, or words that only a parser should
 * judge, so it wants to be parsed.
 */
const struct json *
parse_template_apply(struct parse_template *m, const char *text, size_t length);
