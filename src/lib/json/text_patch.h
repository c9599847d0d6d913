/* SPDX-License-Identifier: Apache-2.0 */
/* text_patch.h - changes a few members of an object's text without parsing it
 *
 * The members that a merge patch (RFC 7386) sets are put into the text of a
 * normalized object as json_print prints it, in the table's order; the rest of the
 * text is copied as it stands.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;
struct record;
struct strbuf;

/* The patch is normalized as far as it goes, without what a table would drop (an
 * empty text, false). False, with something in `out`: it removes a member or has one
 * that the table does not know, or it would change a part that the struct points to;
 * then the object is to be made from its tree.
 */
bool text_patch(const struct record *record,
                const char *text,
                const struct json *patch,
                struct strbuf *out);

/* The same, where the patch's member of that name, one of the object's own, is put
 * in place of the whole value that is there.
 */
bool text_replace(const struct record *record,
                  const char *text,
                  const struct json *patch,
                  const char *name,
                  struct strbuf *out);

/* The value of the object's member of that name, and its bytes; NULL: it has none. */
const char *
text_find_member(const char *text, const char *name, size_t *ret_length);
