/* SPDX-License-Identifier: Apache-2.0 */
/* record_text.h - a record of scontrol show: KEY=VALUE, several in a line, or all in one (-o)
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct strbuf;

struct record_text {
    struct strbuf *out;
    bool is_oneline;
};

/* Adds text to the line; a line end in a value becomes a blank, so that no value makes a line. */
void record_text_add(struct record_text *record, const char *format, ...) PRINTF(2, 3);

/* Begins the next line of the record; ends the record. */
void record_text_line(struct record_text *record);
void record_text_end(struct record_text *record);
