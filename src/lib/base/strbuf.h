/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.h - a string that grows
 *
 * The struct is open: read `text` and `length`, never write them. `text` is
 * always NUL-terminated and never NULL, and may contain NUL bytes.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct strbuf {
    char *text;
    size_t length;
    size_t capacity;
    bool is_lent; /* `text` is the room of strbuf_init_in; private */
};

extern char strbuf_empty[];
#define STRBUF_INIT          \
    {                        \
        .text = strbuf_empty \
    }

/* Life. Take transfers the text to the caller (free() it) and leaves the buffer
 * empty. Init_in keeps the text in `room` while it fits; the caller owns
 * `room`, which must outlive the buffer.
 */
void strbuf_init(struct strbuf *s);
void strbuf_init_in(struct strbuf *s, char *room, size_t size);
void strbuf_fini(struct strbuf *s);
char *strbuf_take(struct strbuf *s) MUST_USE;
#define CLEANUP_STRBUF CLEANUP(strbuf_fini)

/* Truncate keeps the first `length` bytes and the memory. Extend makes
 * the text `more` bytes longer and returns where the caller writes them.
 */
void strbuf_add(struct strbuf *s, const void *bytes, size_t length);
void strbuf_add_char(struct strbuf *s, char c);
char *strbuf_extend(struct strbuf *s, size_t more);
void strbuf_add_text(struct strbuf *s, const char *text);
void strbuf_add_int(struct strbuf *s, int64_t number); /* as %lld */
void strbuf_printf(struct strbuf *s, const char *format, ...) PRINTF(2, 3);
void strbuf_vprintf(struct strbuf *s, const char *format, va_list args) PRINTF(2, 0);
void strbuf_truncate(struct strbuf *s, size_t length);

/* Of a buffer that is filled at its end and sent from its start: drops the bytes
 * before `*sent` when they are at least as many as the rest, and adjusts it. A
 * buffer that is never empty would keep all of them.
 */
void strbuf_drop_sent(struct strbuf *s, size_t *sent);

void strbuf_reserve(struct strbuf *s, size_t more);
