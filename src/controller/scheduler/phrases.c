/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/phrases.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct phrase {
    size_t users;
    char text[];
};

struct phrases {
    struct map *by_text;
};

struct phrases *
phrases_new(void)
{
    struct phrases *p = xnew(struct phrases);

    p->by_text = map_new();
    return p;
}

void
phrases_free(struct phrases *p)
{
    if (p == NULL)
        return;
    map_free(p->by_text);
    free(p);
}

const char *
phrases_take(struct phrases *p, const char *text)
{
    struct phrase *phrase = map_find(p->by_text, text);
    size_t size = strlen(text) + 1;

    if (phrase == NULL) {
        phrase = xmalloc(sizeof(*phrase) + size);
        phrase->users = 0;
        memcpy(phrase->text, text, size);
        map_put(p->by_text, text, phrase);
    }
    phrase->users++;
    return phrase->text;
}

void
phrases_drop(struct phrases *p, const char *taken)
{
    struct phrase *phrase;

    if (taken == NULL)
        return;
    phrase = map_find(p->by_text, taken);
    if (--phrase->users > 0)
        return;
    map_remove(p->by_text, taken);
    free(phrase);
}

size_t
phrases_count(const struct phrases *p)
{
    return map_count(p->by_text);
}
