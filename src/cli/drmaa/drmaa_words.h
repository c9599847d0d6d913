/* SPDX-License-Identifier: Apache-2.0 */
/* drmaa_words.h - lists of texts, and what a caller of DRMAA gets as text
 *
 * The library stands alone in programs of others, and the archives of the tree
 * are made for programs; so it has its own small lists.
 *
 * Thread: any, each list by one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks functions for callers of the library; the rest of the tree's symbols are hidden. */
#define DRMAA_EXPORT __attribute__((visibility("default")))

/* The array word is ended by NULL, once something was added. */
struct drmaa_words {
    char **word;
    size_t count;
    size_t room;
    size_t next; /* of an iteration by the caller */
    bool is_out_of_memory;
};

/* The specification's lists. */
struct drmaa_attr_names_s {
    struct drmaa_words words;
};
struct drmaa_attr_values_s {
    struct drmaa_words words;
};
struct drmaa_job_ids_s {
    struct drmaa_words words;
};

__attribute__((format(printf, 2, 3))) void words_add(struct drmaa_words *words, const char *format,
                                                     ...);
void words_clear(struct drmaa_words *words);

/* Copies as much of value as fits, with a terminating 0. */
void put_text(char *text, size_t size, const char *value);

/* Writes the text, or that of the code if format is NULL, and returns the code. */
__attribute__((format(printf, 4, 5))) int diagnose(char *text, size_t size, int code,
                                                   const char *format, ...);
