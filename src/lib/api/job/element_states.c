/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/element_states.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

/* Each hex digit holds two elements; the tries follow the digits. */
#define FORM   "1:"
#define FORM_2 "2:" /* some tries have a fourth number */
#define DIGITS (ELEMENTS_A_CHUNK / 2)

void
element_chunk_fini(struct element_chunk *chunk)
{
    free(chunk->tries);
    *chunk = (struct element_chunk){0};
}

/* ---- Text ---- */

static bool
parse_states(struct element_chunk *chunk, const char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < DIGITS; i++) {
        const char *at = text[i] != '\0' ? strchr(digits, text[i]) : NULL;

        if (at == NULL)
            return false;
        chunk->states[2 * i] = (uint8_t)((at - digits) & 3);
        chunk->states[2 * i + 1] = (uint8_t)((at - digits) >> 2);
    }
    return true;
}

/* Reads the number of interruptions, if there is one. False: malformed. */
static bool
parse_interrupted(const char **text, bool is_form_2, int64_t *ret_interrupted)
{
    int n;

    *ret_interrupted = 0;
    if (**text != '/')
        return true;
    if (!is_form_2 || sscanf(*text, "/%" SCNd64 "%n", ret_interrupted, &n) != 1)
        return false;
    *text += n;
    return true;
}

static bool
parse_tries(struct element_chunk *chunk, int64_t first, const char *text, bool is_form_2)
{
    struct element_tries t;
    int at, n;

    while (*text != '\0') {
        if (sscanf(text, " %d=%" SCNd64 "/%" SCNd64 "/%" SCNd64 "%n", &at, &t.attempt, &t.failures,
                   &t.ignored, &n)
                != 4
            || at < 0 || at >= ELEMENTS_A_CHUNK)
            return false;
        t.index = first + at;
        text += n;
        if (!parse_interrupted(&text, is_form_2, &t.interrupted))
            return false;
        element_chunk_set_tries(chunk, &t);
    }
    return true;
}

bool
element_chunk_parse(struct element_chunk *chunk, int64_t first, const char *text)
{
    const bool is_form_2 = strncmp(text, FORM_2, strlen(FORM_2)) == 0;

    element_chunk_fini(chunk);
    if ((is_form_2 || strncmp(text, FORM, strlen(FORM)) == 0)
        && parse_states(chunk, text + strlen(FORM))
        && parse_tries(chunk, first, text + strlen(FORM) + DIGITS, is_form_2))
        return true;
    element_chunk_fini(chunk);
    return false;
}

static bool
tells_interrupted(const struct element_chunk *chunk)
{
    for (size_t i = 0; i < chunk->n_tries; i++)
        if (chunk->tries[i].interrupted > 0)
            return true;
    return false;
}

void
element_chunk_format(const struct element_chunk *chunk, int64_t first, struct strbuf *out)
{
    char digits[DIGITS];

    for (size_t i = 0; i < DIGITS; i++)
        digits[i] =
            "0123456789abcdef"[(chunk->states[2 * i] & 3) | (chunk->states[2 * i + 1] & 3) << 2];
    strbuf_add_text(out, tells_interrupted(chunk) ? FORM_2 : FORM);
    strbuf_add(out, digits, DIGITS);
    for (size_t i = 0; i < chunk->n_tries; i++) {
        strbuf_printf(out, " %" PRId64 "=%" PRId64 "/%" PRId64 "/%" PRId64,
                      chunk->tries[i].index - first, chunk->tries[i].attempt,
                      chunk->tries[i].failures, chunk->tries[i].ignored);
        if (chunk->tries[i].interrupted > 0)
            strbuf_printf(out, "/%" PRId64, chunk->tries[i].interrupted);
    }
}

/* ---- Tries ---- */

/* The place of the first entry at or after the index. */
static size_t
find(const struct element_chunk *chunk, int64_t index)
{
    size_t low = 0, high = chunk->n_tries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (chunk->tries[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct element_tries *
element_chunk_tries(const struct element_chunk *chunk, int64_t index)
{
    size_t at = find(chunk, index);

    return at < chunk->n_tries && chunk->tries[at].index == index ? &chunk->tries[at] : NULL;
}

static void
take_out(struct element_chunk *chunk, size_t at)
{
    memmove(&chunk->tries[at], &chunk->tries[at + 1],
            (chunk->n_tries - at - 1) * sizeof(*chunk->tries));
    chunk->n_tries--;
}

void
element_chunk_set_tries(struct element_chunk *chunk, const struct element_tries *tries)
{
    size_t at = find(chunk, tries->index);
    bool is_there = at < chunk->n_tries && chunk->tries[at].index == tries->index;

    if (tries->attempt == 0 && tries->failures == 0 && tries->ignored == 0) {
        if (is_there)
            take_out(chunk, at);
        return;
    }
    if (!is_there) {
        if (chunk->n_tries == chunk->room) {
            chunk->room = chunk->room > 0 ? 2 * chunk->room : 4;
            chunk->tries = xrealloc_array(chunk->tries, chunk->room, sizeof(*chunk->tries));
        }
        memmove(&chunk->tries[at + 1], &chunk->tries[at],
                (chunk->n_tries - at) * sizeof(*chunk->tries));
        chunk->n_tries++;
    }
    chunk->tries[at] = *tries;
}
