/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - validation rules that many fields share
 *
 * Each function checks the member `name` of `object`; the path of the causes
 * must point at the object. Mistakes are added to the causes. An absent member
 * is valid, except for check_present. Each function returns whether the member
 * is valid.
 *
 * Called by:  the rules of the kinds (*_rules.c) only.
 * Thread:     any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/object/causes.h"
#include "lib/api/value/name.h"

struct json;
struct map;

/* Upstream's decoder treats absent, null and "" alike. */
const char *check_text(const struct json *object, const char *name);
bool check_is_set(const struct json *object, const char *name);

/* The texts that a loop has seen, to find duplicates in a list without
 * comparing each pair. The texts are borrowed. Must be zeroed at first.
 */
struct check_texts {
    const char *first;
    struct map *more;
};
void check_texts_fini(struct check_texts *t);
/* False: the text was there already. */
bool check_texts_add(struct check_texts *t, const char *text);
bool check_texts_has(const struct check_texts *t, const char *text);
/* Adds the member `name` of each item. */
void check_texts_add_list(struct check_texts *t, const struct json *list, const char *name);
#define CHECK_TEXTS(t) CLEANUP(check_texts_fini) struct check_texts t = {0}

/* `words` is the message; "": none. */
bool check_present(struct causes *c, const struct json *object, const char *name,
                   const char *words);
bool check_name(struct causes *c, const struct json *object, const char *name, enum name_form form);

/* Checks any text against a form, as the field `name`; messages show `shown`.
 */
bool check_form(struct causes *c, const char *name, enum name_form form, const char *text,
                const struct json *shown);

/* The name of a resource; messages show it without quotes. */
bool check_resource_name_form(struct causes *c, const char *name);

/* Like check_name, for a generateName: it may end with a dash. */
bool check_name_prefix(struct causes *c, const struct json *object, const char *name,
                       enum name_form form);

/* A single line of at most `most` bytes. */
bool check_line(struct causes *c, const struct json *object, const char *name, unsigned most);

/* Whether the text begins or ends with a space. */
bool check_has_outer_space(const char *text);

/* `values` ends with NULL. The empty text is not a valid value. */
bool check_one_of(struct causes *c, const struct json *object, const char *name,
                  const char *const *values);
/* The same, but an empty text counts as missing. */
bool check_given_one_of(struct causes *c, const struct json *object, const char *name,
                        const char *const *values);
#define CHECK_VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

bool check_not_negative(struct causes *c, const struct json *object, const char *name);
bool check_range(struct causes *c, const struct json *object, const char *name, int64_t least,
                 int64_t most);
bool check_positive(struct causes *c, const struct json *object, const char *name);
bool check_port(struct causes *c, const struct json *object, const char *name);
/* The member is a port number or the name of a port. */
bool check_port_or_name(struct causes *c, const struct json *object, const char *name);
bool check_ip(struct causes *c, const struct json *object, const char *name);

/* Checks the keys and the values of labels. */
bool check_labels(struct causes *c, const struct json *object, const char *name);

/* The member must not differ from the old object's. */
bool check_immutable(struct causes *c, const struct json *object, const struct json *old,
                     const char *name);

/* A path inside a volume must be relative and without "..". */
bool check_descending_path(struct causes *c, const struct json *object, const char *name,
                           const char *shown_as);
bool check_no_parent_references(struct causes *c, const struct json *object, const char *name);

/* A label selector as a member of an object. */
void check_label_selector(struct causes *c, const struct json *object, const char *name);

/* The quantity of that resource in a map. */
bool check_quantity(struct causes *c, const struct json *map, const char *resource);
