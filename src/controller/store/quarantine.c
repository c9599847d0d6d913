/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/quarantine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/map.h"

#define UID_LENGTH 36
#define LINES      100 /* most rows that are logged one by one */

struct quarantine {
    struct store_damaged *rows;
    size_t n;
    size_t capacity;
    struct map *keys;
    struct map *uids;
};

struct quarantine *
quarantine_new(void)
{
    struct quarantine *q = xnew(struct quarantine);

    q->keys = map_new();
    q->uids = map_new();
    return q;
}

void
quarantine_free(struct quarantine *q)
{
    if (q == NULL)
        return;
    for (size_t i = 0; i < q->n; i++) {
        free(q->rows[i].key);
        free(q->rows[i].why);
    }
    free(q->rows);
    map_free(q->keys);
    map_free(q->uids);
    free(q);
}

/* 8-4-4-4-12 hexadecimal digits. */
static bool
is_uid(const char *text)
{
    for (unsigned i = 0; i < UID_LENGTH; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

static void
note_uids(struct quarantine *q, const char *text, size_t length)
{
    for (size_t i = 0; i + UID_LENGTH <= length; i++)
        if (text[i + 8] == '-' && is_uid(text + i)) {
            char uid[UID_LENGTH + 1];

            memcpy(uid, text + i, UID_LENGTH);
            uid[UID_LENGTH] = '\0';
            map_put(q->uids, uid, q);
            i += UID_LENGTH - 1;
        }
}

static char *
make_key(const struct engine_row *row)
{
    if (row->is_lone_change)
        return xasprintf("changes/%lld", (long long)row->revision);
    return row->namespace[0] != '\0' ? xasprintf("%s/%s/%s", row->kind, row->namespace, row->name)
                                     : xasprintf("%s/%s", row->kind, row->name);
}

void
quarantine_add(struct quarantine *q, const struct engine_row *row, const struct kind *kind,
               const char *why)
{
    struct store_damaged *d;

    xgrow(q->rows, q->n, q->capacity);
    d = &q->rows[q->n++];
    *d = (struct store_damaged){
        .row = row->row,
        .key = make_key(row),
        .why = xstrdup(why),
        .kind = kind,
        .last_revision =
            row->n_deltas > 0 ? row->deltas[row->n_deltas - 1].revision : row->revision,
        .is_lone_change = row->is_lone_change,
    };
    map_put(q->keys, d->key, q);
    note_uids(q, row->body, row->length);
    for (size_t i = 0; i < row->n_deltas; i++)
        note_uids(q, row->deltas[i].patch, row->deltas[i].length);
    if (q->n <= LINES)
        log_error("'%s' cannot be read and is kept aside unchanged (row %lld: "
                  "%s)",
                  d->key, (long long)d->row, why);
}

size_t
quarantine_count(const struct quarantine *q)
{
    return q->n;
}

const struct store_damaged *
quarantine_get(const struct quarantine *q, size_t i)
{
    return &q->rows[i];
}

bool
quarantine_has(const struct quarantine *q, const char *key)
{
    return map_find(q->keys, key) != NULL;
}

bool
quarantine_names(const struct quarantine *q, const char *uid)
{
    return map_find(q->uids, uid) != NULL;
}
