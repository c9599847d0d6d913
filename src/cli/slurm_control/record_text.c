/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_control/record_text.h"

#include <ctype.h>
#include <stdarg.h>

#include "cli/print/sanitize_text.h"
#include "lib/base/strbuf.h"

void
record_text_add(struct record_text *record, const char *format, ...)
{
    const size_t start = record->out->length;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(record->out, format, args);
    va_end(args);
    for (size_t i = start; i < record->out->length; i++)
        if (iscntrl((unsigned char)record->out->text[i]))
            record->out->text[i] = ' ';
    strbuf_truncate(record->out, start + sanitize_text_in_place(record->out->text + start));
}

void
record_text_line(struct record_text *record)
{
    strbuf_add_text(record->out, record->is_oneline ? " " : "\n   ");
}

void
record_text_end(struct record_text *record)
{
    strbuf_add_text(record->out, record->is_oneline ? "\n" : "\n\n");
}
