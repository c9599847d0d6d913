/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h - reads the objects in the files of -f
 *
 * A file is YAML or JSON with one object or several; "-" is the standard input;
 * a directory means its *.yaml, *.yml and *.json files, sorted by name. Items
 * of a List become separate documents.
 *
 * Thread: the main one.
 */
#pragma once

#include "cli/kctl/client/kctl.h"

struct option_texts;

struct document {
    struct target_object target; /* a NULL name means generateName */
    struct json *object;
    const char *source; /* "job.yaml, document 2" */
};

struct documents {
    struct document *items; /* in the arena */
    size_t count;
    size_t capacity;
};

/* Reads all files before the caller acts on the first. Errors name the file and
 * the document.
 */
int documents_read(struct kctl *kctl, const struct option_texts *files, struct arena *arena,
                   struct documents *ret_documents, struct error *err);
