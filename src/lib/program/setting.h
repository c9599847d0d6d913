/* SPDX-License-Identifier: Apache-2.0 */
/* setting.h - what can be configured: one table per daemon
 *
 * The table gives defaults, reads the configuration file (YAML) and the
 * command line into the daemon's struct, prints the whole configuration with
 * its explanations, and finds what was meant by a mistyped key. Keys are paths
 * with dots ("store.batchDelay"). Strings and lists live in the arena given.
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
    SETTING_TEXT,     /* const char *; NULL where it is empty, which one that
                         has an initial text may not be */
    SETTING_TEXTS,    /* struct setting_texts */
    SETTING_PAIRS,    /* the same, each "key=value"; in the file a mapping */
    SETTING_CHOICE,   /* int: the place among the choices */
    SETTING_TIMESPAN, /* int64_t, microseconds, from min to max */
    SETTING_BYTES,    /* int64_t, from min to max: 4096, "64Mi", "2G" */
    SETTING_TREE,     /* const struct json *, as it came; NULL when absent */
};

struct setting_texts {
    const char *const *items;
    size_t count;
};

/* Whether a text that was given, not the initial one, will do: 0, or -EINVAL
 * with words that do not name the setting.
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
    const char *help;           /* a sentence or two */
    const char *option;         /* the long option that overrides, or NULL */
    char letter;                /* of the option, or 0 */
    const char *argument;       /* of the option: "DIR"; NULL: a flag */
    setting_check_fn *check;    /* of texts, of each in a list; or NULL */
    bool reloads;               /* a running daemon takes a new value */
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

/* Whether it binds a struct setting_texts. */
bool setting_is_list(const struct setting *setting);

/* Checks one text of `setting`, or of its list. */
int setting_check(const struct setting *setting,
                  const char *text,
                  struct error *err);

/* Fills the members of the table, or the one, with what is initial; the rest
 * of the target is left alone.
 */
void setting_reset_one(const struct setting *setting,
                       struct arena *arena,
                       void *target);
void setting_reset(const struct setting_table *table,
                   struct arena *arena,
                   void *target);

/* One setting from a command line: a list has commas, a flag's text is NULL.
 * Add puts the items of a list behind those that are there. -EINVAL with words
 * that do not name the setting.
 */
int setting_add(const struct setting *setting,
                struct arena *arena,
                const char *text,
                void *target,
                struct error *err);
int setting_set(const struct setting *setting,
                struct arena *arena,
                const char *text,
                void *target,
                struct error *err);

/* The settings in a text, over what the target holds. Every mistake is a line
 * in `mistakes`, "NAME:LINE: KEY: WORDS"; -EINVAL when there was one, and then
 * the target is half changed.
 */
int setting_read(const struct setting_table *table,
                 struct arena *arena,
                 const char *name,
                 const char *text,
                 size_t length,
                 void *target,
                 struct strbuf *mistakes);

/* The same from a file. -errno, and a line, when it cannot be read. */
int setting_read_file(const struct setting_table *table,
                      struct arena *arena,
                      const char *path,
                      void *target,
                      struct strbuf *mistakes);

/* Whether both targets have the same value of it. */
bool setting_is_same(const struct setting *setting,
                     const void *one,
                     const void *other);

/* Appends the configuration as a file, each key explained. */
void setting_print(const struct setting_table *table,
                   const void *target,
                   struct strbuf *out);
