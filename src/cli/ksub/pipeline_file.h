/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_file.h - the stages of a pipeline, from a file or as a chain
 *
 *   options: -p short            # of all stages
 *   stages:
 *   - name: prepare
 *     script: prepare.sh
 *     args: [2026]
 *   - name: train
 *     script: train.sh
 *     options: [-c, 8]
 *     after: prepare             # or afterok:prepare, afterany:..., a list
 *   - name: report
 *     wrap: ./report --all
 *     after: afterany:train
 *
 * Thread: the main one.
 */
#pragma once

#include <stddef.h>

struct arena;
struct error;
struct json;

#define PIPELINE_FILE_STAGES_MOST 128u /* the limit of the API */

struct pipeline_words {
    char **items;
    size_t count;
};

struct pipeline_stage {
    const char *name;
    const char *script;  /* its path; or NULL */
    const char *wrapped; /* a command; or NULL */
    struct pipeline_words options;
    struct pipeline_words arguments;
    struct json *after; /* in the form of spec.dependencies, with names; NULL:
                         * none */
    unsigned line;      /* in the file; 0: there is no file */
};

struct pipeline_file {
    const char *path; /* NULL: it is a chain */
    struct pipeline_words options;
    struct pipeline_stage *stages;
    size_t count;
    size_t *order; /* indexes of stages: each after those that it waits for */
};

/* Everything is in the arena; "-" is the standard input. -EINVAL or -E2BIG,
 * with the file and the line in the text.
 */
int pipeline_file_read(const char *path, struct arena *arena, struct pipeline_file *ret_file,
                       struct error *err);

/* Makes a chain of scripts that start one after the other; their paths are
 * borrowed.
 */
int pipeline_file_chain(char *const *scripts, size_t count, struct arena *arena,
                        struct pipeline_file *ret_file, struct error *err);

/* The stage with that name, or NULL. */
const struct pipeline_stage *pipeline_file_find(const struct pipeline_file *file, const char *name);
