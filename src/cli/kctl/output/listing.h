/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - prints objects in every form of -o: the server's tables,
 * custom columns, JSON, YAML, names or a template
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct json;
struct kind;
struct listing;

enum listing_form {
    LISTING_TABLE,
    LISTING_WIDE,
    LISTING_JSON,
    LISTING_YAML,
    LISTING_NAMES,
    LISTING_TEMPLATE, /* jsonpath=TEXT */
    LISTING_COLUMNS,  /* custom-columns=HEADING:PATH,... */
};

struct listing_style {
    enum listing_form form;
    const char *argument;      /* of the last two forms */
    const char *label_columns; /* "rack,zone", or NULL */
    bool keeps_order;          /* rows stay in the order in which they were
                                * added */
    bool no_headings;
    bool shows_namespace;
    bool shows_labels;
    bool prefixes_kind; /* "pod/a", if several kinds are listed */
};

/* Parses the value of -o into form and argument; NULL is a table. It also
 * checks a template or the paths of columns.
 */
int listing_style_parse(const char *text, struct listing_style *style, struct error *err);

/* The Accept header for the form; NULL requests objects. */
const char *listing_accept(const struct listing_style *style);

/* Life. Rows are kept until they are printed, so that the columns fit all of
 * them.
 */
void listing_free(struct listing *listing);
struct listing *listing_new(const struct listing_style *style, const struct kind *kind)
    OWNED_BY(listing_free);
DEFINE_CLEANUP(struct listing, listing_free)

/* Add takes an answer of the server: a Table, a list or an object.
 * Returns the number of objects in it.
 */
size_t listing_add(struct listing *listing, const struct json *answer);

/* Prints the rows added since the last call to standard output. */
void listing_print(struct listing *listing);
