/* SPDX-License-Identifier: Apache-2.0 */
/* seen_texts.c - measuring, decoding and copying must share the same texts, byte for
 * byte, or the measured room is too small
 *
 * So the set has a fixed size and no random seed: what it remembers depends only
 * on the texts and their order. A user who chooses texts with equal hashes makes a
 * search of at most SEEN_TEXTS_MAX steps.
 */
#include "lib/json/seen_texts.h"

#include <string.h>

#include "lib/json/field.h"

bool
seen_texts_may_hold(const struct seen_texts *w, size_t length)
{
    return length <= SEEN_TEXT_MAX && w->count < SEEN_TEXTS_MAX;
}

static uint32_t
hash_of(const char *text, size_t length)
{
    uint64_t first = 0, last = 0;
    size_t n = length < 8 ? length : 8;

    memcpy(&first, text, n);
    memcpy(&last, text + length - n, n);
    first = (first ^ (last << 17 | last >> 47) ^ length) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(first >> 40);
}

unsigned
seen_texts_find(const struct seen_texts *w, const char *text, size_t length)
{
    unsigned i = hash_of(text, length) % SEEN_TEXTS;

    while (w->texts[i] != NULL
           && (w->lengths[i] != length || memcmp(w->texts[i], text, length) != 0))
        i = (i + 1) % SEEN_TEXTS;
    return i;
}

void
seen_texts_remember(struct seen_texts *w, unsigned at, const char *text, size_t length)
{
    w->texts[at] = text;
    w->lengths[at] = (uint8_t)length;
    w->count++;
}

static const char *
find_known(const char *const *list, const char *text, size_t length)
{
    for (; list != NULL && *list != NULL; list++)
        if ((*list)[0] == text[0] && strncmp(*list, text, length) == 0 && (*list)[length] == '\0')
            return *list;
    return NULL;
}

const char *
seen_texts_known(const struct field *f, const char *text, size_t length)
{
    const char *known = find_known(f->values, text, length);

    return known != NULL ? known : find_known(f->common, text, length);
}
