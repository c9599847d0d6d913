/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/svg_text.h"

#include <stdbool.h>
#include <string.h>

#include "cli/print/sanitize_text.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

/* XML does not allow U+FFFE and U+FFFF. */
static bool
is_no_character(const char *text)
{
    return strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0;
}

void
svg_text_add(struct strbuf *out, const char *text)
{
    CLEANUP_FREE char *clean = sanitize_text_dup(text);

    for (const char *at = clean; *at != '\0'; at++)
        switch (*at) {
        case '&':
            strbuf_add_text(out, "&amp;");
            break;
        case '<':
            strbuf_add_text(out, "&lt;");
            break;
        case '>':
            strbuf_add_text(out, "&gt;");
            break;
        case '"':
            strbuf_add_text(out, "&quot;");
            break;
        default:
            if (is_no_character(at)) {
                strbuf_add_char(out, '?');
                at += 2;
            } else
                strbuf_add_char(out, *at);
        }
}
