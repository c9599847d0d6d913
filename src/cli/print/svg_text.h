/* SPDX-License-Identifier: Apache-2.0 */
/* svg_text.h - other people's text in an SVG picture
 *
 * Thread: any.
 */
#pragma once

struct strbuf;

/* The text is UTF-8. Markup is escaped, and what XML cannot have or what nobody
 * sees is a question mark.
 */
void svg_text_add(struct strbuf *out, const char *text);
