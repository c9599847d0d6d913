/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - the rules that many fields have in common
 *
 * All look at the member `name` of `object`, where the walk of the causes
 * stands at the object, and add what is wrong with it. Members that are
 * absent are fine, except where check_present is asked. Each returns whether
 * nothing was wrong.
 *
 * Called by:  the rules of the kinds (*_rules.c), and nobody outside.
 * Thread:     any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/object/causes.h"
#include "lib/api/value/name.h"

struct json;
struct map;

/* Absent, null and "" are the same to upstream's decoder. */
const char *check_text(const struct json *object, const char *name);
bool check_is_set(const struct json *object, const char *name);

/* The texts that a walk has seen, so duplicates in a list are found without
 * comparing each with all before it. The texts are borrowed. Begins zeroed.
 */
struct check_texts {
    const char *first;
    struct map *more;
};
void check_texts_fini(struct check_texts *t);
/* False: it was there. */
bool check_texts_add(struct check_texts *t, const char *text);
bool check_texts_has(const struct check_texts *t, const char *text);
/* Adds the member of that name of each item. */
void check_texts_add_list(struct check_texts *t,
                          const struct json *list,
                          const char *name);
#define CHECK_TEXTS(t) CLEANUP(check_texts_fini) struct check_texts t = {0}

/* `words` is the message; "" for none. */
bool check_present(struct causes *c,
                   const struct json *object,
                   const char *name,
                   const char *words);
bool check_name(struct causes *c,
                const struct json *object,
                const char *name,
                enum name_form form);

/* Checks any text like this, as the field `name`; causes show `shown`. */
bool check_form(struct causes *c,
                const char *name,
                enum name_form form,
                const char *text,
                const struct json *shown);

/* The name of a resource, which messages show without quotes. */
bool check_resource_name_form(struct causes *c, const char *name);

/* Like check_name, for the beginning of a name: it may end with a dash. */
bool check_name_prefix(struct causes *c,
                       const struct json *object,
                       const char *name,
                       enum name_form form);

/* A text of one line, of at most so many bytes. */
bool check_line(struct causes *c,
                const struct json *object,
                const char *name,
                unsigned most);

/* Whether the text begins or ends with a space. */
bool check_has_outer_space(const char *text);

/* `values` ends with NULL. An empty text is wrong like any other. */
bool check_one_of(struct causes *c,
                  const struct json *object,
                  const char *name,
                  const char *const *values);
/* The same, but an empty text counts as missing. */
bool check_given_one_of(struct causes *c,
                        const struct json *object,
                        const char *name,
                        const char *const *values);
#define CHECK_VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

bool check_not_negative(struct causes *c,
                        const struct json *object,
                        const char *name);
bool check_range(struct causes *c,
                 const struct json *object,
                 const char *name,
                 int64_t least,
                 int64_t most);
bool
check_positive(struct causes *c, const struct json *object, const char *name);
bool check_port(struct causes *c, const struct json *object, const char *name);
/* The member is a number, or the name of a port. */
bool check_port_or_name(struct causes *c,
                        const struct json *object,
                        const char *name);
bool check_ip(struct causes *c, const struct json *object, const char *name);

/* Checks the keys and the values of labels. */
bool
check_labels(struct causes *c, const struct json *object, const char *name);

/* The member must be what it was. */
bool check_immutable(struct causes *c,
                     const struct json *object,
                     const struct json *old,
                     const char *name);

/* A path inside a volume is relative, and has no "..". */
bool check_descending_path(struct causes *c,
                           const struct json *object,
                           const char *name,
                           const char *shown_as);
bool check_no_parent_references(struct causes *c,
                                const struct json *object,
                                const char *name);

/* A label selector, as it stands in many objects. */
void check_label_selector(struct causes *c,
                          const struct json *object,
                          const char *name);

/* A quantity of that resource, as the value of a map's member. */
bool
check_quantity(struct causes *c, const struct json *map, const char *resource);
