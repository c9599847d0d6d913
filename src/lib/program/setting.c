/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/setting.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"

const char *const setting_log_levels[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
    NULL,
};

static int
set_bool(const struct setting *s, const char *text, void *target, struct error *err)
{
    if (text == NULL || strcmp(text, "true") == 0) {
        *(bool *)setting_place(s, target) = true;
        return 0;
    }
    if (strcmp(text, "false") == 0) {
        *(bool *)setting_place(s, target) = false;
        return 0;
    }
    return error_set(err, -EINVAL, "'%s' is not true or false", text);
}

static int
set_int(const struct setting *s, const char *text, void *target, struct error *err)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < s->min || number > s->max)
        return error_set(err, -EINVAL, "'%s' is not a number from %lld to %lld", text,
                         (long long)s->min, (long long)s->max);
    *(int64_t *)setting_place(s, target) = number;
    return 0;
}

static int
set_timespan(const struct setting *s, const char *text, void *target, struct error *err)
{
    char least[TIMESPAN_TEXT_SIZE];
    char most[TIMESPAN_TEXT_SIZE];
    int64_t us;
    int r = timespan_parse(text, &us);

    if (r == 0 && us >= s->min && us <= s->max) {
        *(int64_t *)setting_place(s, target) = us;
        return 0;
    }
    if (r == -EINVAL)
        return error_set(err, -EINVAL, "'%s' is not a time, such as 500ms, 10s or 1h30m", text);
    timespan_format(s->min, least);
    timespan_format(s->max, most);
    return error_set(err, -EINVAL, "'%s' is not a time from %s to %s", text, least, most);
}

static int
set_bytes(const struct setting *s, const char *text, void *target, struct error *err)
{
    char least[QUANTITY_TEXT_SIZE];
    char most[QUANTITY_TEXT_SIZE];
    struct quantity limit;
    struct quantity q;
    int r = quantity_parse(text, &q);

    if (r == 0 && quantity_value(&q) >= s->min && quantity_value(&q) <= s->max) {
        *(int64_t *)setting_place(s, target) = quantity_value(&q);
        return 0;
    }
    if (r == -EINVAL)
        return error_set(err, -EINVAL, "'%s' is not a size in bytes, such as 4096 or 64Mi", text);
    limit = quantity_of(s->min, QUANTITY_BINARY_SI);
    quantity_format(&limit, least);
    limit = quantity_of(s->max, QUANTITY_BINARY_SI);
    quantity_format(&limit, most);
    return error_set(err, -EINVAL, "'%s' is not a size from %s to %s", text, least, most);
}

static int
set_choice(const struct setting *s, const char *text, void *target, struct error *err)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;

    for (int i = 0; s->choices[i] != NULL; i++) {
        if (strcmp(s->choices[i], text) == 0) {
            *(int *)setting_place(s, target) = i;
            return 0;
        }
        strbuf_printf(&all, "%s%s", i > 0 ? ", " : "", s->choices[i]);
    }
    return error_set(err, -EINVAL, "'%s' is not one of %s", text, all.text);
}

int
setting_check(const struct setting *s, const char *text, struct error *err)
{
    if (s->type == SETTING_PAIRS && strchr(text, '=') == NULL)
        return error_set(err, -EINVAL, "'%s' is not of the form KEY=VALUE", text);
    if (text == s->initial || s->check == NULL)
        return 0;
    return s->check(text, err);
}

static int
set_text(const struct setting *s, struct arena *arena, const char *text, void *target,
         struct error *err)
{
    const char **place = setting_place(s, target);
    int r;

    if (*text == '\0' && s->initial != NULL)
        return error_set(err, -EINVAL, "must not be empty");
    if (*text == '\0') {
        *place = NULL;
        return 0;
    }
    r = setting_check(s, text, err);
    if (r == 0)
        *place = arena_strdup(arena, text);
    return r;
}

/* "a,b": a list on a command line. */
static int
add_texts(const struct setting *s, struct arena *arena, const char *text, void *target,
          struct error *err)
{
    struct setting_texts *texts = setting_place(s, target);
    size_t count = texts->count;
    size_t most = count + 1;
    const char **items;

    for (const char *p = text; *p != '\0'; p++)
        most += *p == ',';
    items = arena_new_array(arena, const char *, most);
    if (count > 0)
        memcpy(items, texts->items, count * sizeof(*items));
    while (*text != '\0') {
        size_t length = strcspn(text, ",");

        if (length > 0)
            items[count++] = arena_strndup(arena, text, length);
        if (length > 0 && setting_check(s, items[count - 1], err) < 0)
            return -EINVAL;
        text += length + (text[length] == ',');
    }
    *texts = (struct setting_texts){items, count};
    return 0;
}

bool
setting_is_list(const struct setting *s)
{
    return s->type == SETTING_TEXTS || s->type == SETTING_PAIRS;
}

int
setting_add(const struct setting *s, struct arena *arena, const char *text, void *target,
            struct error *err)
{
    return setting_is_list(s) ? add_texts(s, arena, text, target, err)
                              : setting_set(s, arena, text, target, err);
}

int
setting_set(const struct setting *s, struct arena *arena, const char *text, void *target,
            struct error *err)
{
    switch (s->type) {
    case SETTING_BOOL:
        return set_bool(s, text, target, err);
    case SETTING_INT:
        return set_int(s, text, target, err);
    case SETTING_TIMESPAN:
        return set_timespan(s, text, target, err);
    case SETTING_BYTES:
        return set_bytes(s, text, target, err);
    case SETTING_CHOICE:
        return set_choice(s, text, target, err);
    case SETTING_TEXT:
        return set_text(s, arena, text, target, err);
    case SETTING_TEXTS:
    case SETTING_PAIRS:
        *(struct setting_texts *)setting_place(s, target) = (struct setting_texts){NULL, 0};
        return add_texts(s, arena, text, target, err);
    case SETTING_TREE:
        break;
    }
    return error_set(err, -EINVAL, "can only be set in the configuration file");
}

static void
clear(const struct setting *s, void *target)
{
    void *place = setting_place(s, target);

    switch (s->type) {
    case SETTING_BOOL:
        *(bool *)place = false;
        break;
    case SETTING_INT:
    case SETTING_TIMESPAN:
    case SETTING_BYTES:
        *(int64_t *)place = 0;
        break;
    case SETTING_CHOICE:
        *(int *)place = 0;
        break;
    case SETTING_TEXT:
        *(const char **)place = NULL;
        break;
    case SETTING_TEXTS:
    case SETTING_PAIRS:
        *(struct setting_texts *)place = (struct setting_texts){NULL, 0};
        break;
    case SETTING_TREE:
        *(const struct json **)place = NULL;
        break;
    }
}

void
setting_reset_one(const struct setting *s, struct arena *arena, void *target)
{
    struct error err = {0};

    clear(s, target);
    if (s->initial == NULL)
        return;
    if (setting_set(s, arena, s->initial, target, &err) < 0) {
        fprintf(stderr, "default of setting '%s': %s\n", s->key, err.text);
        abort();
    }
}

void
setting_reset(const struct setting_table *table, struct arena *arena, void *target)
{
    for (size_t i = 0; i < table->n_settings; i++)
        setting_reset_one(&table->settings[i], arena, target);
}
