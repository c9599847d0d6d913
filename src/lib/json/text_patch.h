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
