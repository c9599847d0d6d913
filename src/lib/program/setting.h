/* SPDX-License-Identifier: Apache-2.0 */
/* setting.h - the settings of a daemon, in one table
 *
 * The table gives defaults, reads the configuration file (YAML) and the command
 * line into the daemon's struct, prints the whole configuration with
 * explanations, and suggests the key that a mistyped one was meant to be. Keys
 * are paths with dots ("store.batchDelay"). Strings and lists are in the arena
 * passed in.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct json;
struct strbuf;

/* The member of the daemon's struct, by type. */
enum setting_type {
    SETTING_BOOL,     /* bool */
    SETTING_INT,      /* int64_t, from min to max */
    SETTING_TEXT,     /* const char *; NULL if empty; must not be empty if
                       * `initial` is set */
    SETTING_TEXTS,    /* struct setting_texts */
    SETTING_PAIRS,    /* struct setting_texts of "key=value"; a mapping in the
                       * file */
    SETTING_CHOICE,   /* int: the index in `choices` */
    SETTING_TIMESPAN, /* int64_t, microseconds, from min to max */
    SETTING_BYTES,    /* int64_t, from min to max: 4096, "64Mi", "2G" */
    SETTING_TREE,     /* const struct json *, unchanged; NULL when absent */
};

struct setting_texts {
    const char *const *items;
    size_t count;
};

/* Checks a text that was given, not the initial one: 0, or -EINVAL with a text
 * that does not name the setting.
 */
typedef int setting_check_fn(const char *text, struct error *err);

struct setting {
    const char *key;
    enum setting_type type;
    size_t offset;
    const char *initial; /* as on a command line; NULL: zero, empty, absent */
    int64_t min;
    int64_t max;
    const char *const *choices; /* ends with NULL */
    const char *help;           /* one or two sentences */
    const char *option;         /* long option that overrides the file; or
                                 * NULL */
    char letter;                /* of the option, or 0 */
    const char *argument;       /* of the option: "DIR"; NULL: a flag */
    setting_check_fn *check;    /* of a text, or each text of a list; or NULL */
    bool reloads;               /* a reload applies a new value */
};

/* The choices of a setting that is an enum log_level. */
extern const char *const setting_log_levels[];

struct setting_table {
    const struct setting *settings;
    size_t n_settings;
};

static inline void *
setting_place(const struct setting *setting, void *target)
{
    return (char *)target + setting->offset;
}

/* Whether the member is a struct setting_texts. */
bool setting_is_list(const struct setting *setting);

/* Checks one text of `setting`, or one element of its list. */
int setting_check(const struct setting *setting, const char *text, struct error *err);

/* Sets all members of the table, or one, to their initial values; the rest of
 * the target is unchanged.
 */
void setting_reset_one(const struct setting *setting, struct arena *arena, void *target);
void setting_reset(const struct setting_table *table, struct arena *arena, void *target);

/* Reads one setting from a command line: a list is separated by commas, the
 * text of a flag is NULL. Add appends to a list instead of replacing it.
 * -EINVAL with a text that does not name the setting.
 */
int setting_add(const struct setting *setting, struct arena *arena, const char *text, void *target,
                struct error *err);
int setting_set(const struct setting *setting, struct arena *arena, const char *text, void *target,
                struct error *err);

/* Reads the settings of a file over the values in the target. Every mistake is
 * a line in `mistakes`, "PATH:LINE: KEY: WORDS"; -EINVAL when there was one,
 * and then the target may be partly changed. Another -errno and a line in
 * `mistakes` if the file cannot be read.
 */
int setting_read_file(const struct setting_table *table, struct arena *arena, const char *path,
                      void *target, struct strbuf *mistakes);

/* Whether the setting has the same value in both targets. */
bool setting_is_same(const struct setting *setting, const void *one, const void *other);

/* Appends the configuration in the form of the file, with each key explained.
 */
void setting_print(const struct setting_table *table, const void *target, struct strbuf *out);
