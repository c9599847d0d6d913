/* SPDX-License-Identifier: Apache-2.0 */
/* text_patch.h - changes a few members of an object's text without parsing it
 *
 * Merges the members of a merge patch (RFC 7386) into the text of a normalized
 * object as printed by json_print, in the table's order; the rest of the text
 * is copied unchanged.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;
struct record;
struct strbuf;

/* The patch must be normalized and must not contain values that a table would
 * drop (an empty text, false). False, with a partial text in `out`: the patch
 * removes a member, has one that the table does not contain, or changes a part
 * that the struct points to. The caller must then make the object from its
 * tree.
 */
bool text_patch(const struct record *record, const char *text, const struct json *patch,
                struct strbuf *out);

/* The same, but the patch's top-level member `name` replaces the whole value
 * that the object has.
 */
bool text_replace(const struct record *record, const char *text, const struct json *patch,
                  const char *name, struct strbuf *out);

/* The text of the object's member of that name, and its length; NULL: no such
 * member.
 */
const char *text_find_member(const char *text, const char *name, size_t *ret_length);
