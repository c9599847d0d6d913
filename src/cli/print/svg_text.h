/* SPDX-License-Identifier: Apache-2.0 */
/* svg_text.h - text of other users in an SVG picture
 *
 * Thread: any.
 */
#pragma once

struct strbuf;

/* The text is UTF-8. Markup is escaped; characters that XML does not allow and
 * invisible ones become question marks.
 */
void svg_text_add(struct strbuf *out, const char *text);
