/* SPDX-License-Identifier: Apache-2.0 */
/* kctl apply - changes objects to match files
 *
 * A three-way merge of the file, the file as last applied (kept in an
 * annotation that kubectl uses too), and the object on the server. Members that
 * the file no longer has are removed; members that others set are kept. Lists
 * are replaced as a whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/documents.h"
#include "cli/kctl/input/three_way.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct apply_options {
    struct common_options common;
    struct option_texts files;
    bool dry_run;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "dry-run",
     .help = "let the controller check it, but change nothing",
     .type = OPTION_FLAG,
     .offset = offsetof(struct apply_options, dry_run)},
    {.name = "filename",
     .letter = 'f',
     .argument = "FILE",
     .help = "YAML or JSON, several documents in one; a directory of such "
             "files; '-' is the standard input; may be given again",
     .type = OPTION_TEXTS,
     .offset = offsetof(struct apply_options, files)},
};

static const struct option_table table = {
    .name = "kctl apply",
    .usage = "[OPTION]... -f FILE",
    .summary = "Change objects to match files; create them if they do not "
               "exist.",
    OPTION_ROWS(rows),
    .more = "Example: kctl apply -f partition.yaml",
};

static const char *
query_of(const struct apply_options *o)
{
    return o->dry_run ? "fieldValidation=Strict&dryRun=All" : "fieldValidation=Strict";
}

static int
create(struct kctl *kctl, const struct apply_options *o, const struct document *d,
       struct arena *arena, const char **ret_what, struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = d->target.kind,
        .namespace = d->target.namespace,
        .body = three_way_annotated(arena, d->object),
        .query = query_of(o),
    };

    *ret_what = "created";
    return kctl_call(kctl, &request, arena, NULL, err);
}

static int
patch(struct kctl *kctl, const struct apply_options *o, const struct document *d,
      const struct json *current, struct arena *arena, const char **ret_what, struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = d->target.kind,
        .namespace = d->target.namespace,
        .name = d->target.name,
        .body = three_way_patch(arena, current, d->object),
        .query = query_of(o),
    };
    const char *before = json_path_text(current, "metadata.resourceVersion");
    const char *after;
    struct json *answer = NULL;
    int r;

    *ret_what = "unchanged";
    if (request.body == NULL)
        return 0;
    r = kctl_call(kctl, &request, arena, &answer, err);
    after = json_path_text(answer, "metadata.resourceVersion");
    /* A dry run writes nothing, so the version does not change. */
    if (r == 0 && (o->dry_run || before == NULL || after == NULL || strcmp(before, after) != 0))
        *ret_what = "configured";
    return r;
}

static int
apply(struct kctl *kctl, const struct apply_options *o, const struct document *d, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *current = NULL;
    const char *what = NULL;
    int r;

    if (d->target.name == NULL)
        return error_set(err, -EINVAL,
                         "metadata.name is required; for generateName, use "
                         "kctl create");
    r = kctl_find(kctl, &d->target, arena, &current, err);
    if (r < 0)
        return r;
    if (current == NULL) {
        r = create(kctl, o, d, arena, &what, err);
        /* Somebody else was first; the controller makes partitions, too. */
        if (r == -EEXIST && kctl_find(kctl, &d->target, arena, &current, NULL) == 0
            && current != NULL)
            *err = (struct error){0};
    }
    if (current != NULL)
        r = patch(kctl, o, d, current, arena, &what, err);
    if (r == 0)
        printf("%s %s%s\n", kctl_label(&d->target, arena), what, o->dry_run ? " (dry run)" : "");
    return r;
}

static int
apply_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct apply_options *o = options;
    struct documents documents;
    int r;

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected; give files with -f", operands[0]);
    r = documents_read(kctl, &o->files, arena, &documents, err);
    free(o->files.items);
    for (size_t i = 0; r == 0 && i < documents.count; i++) {
        r = apply(kctl, o, &documents.items[i], err);
        if (r < 0)
            return error_wrap(err, r, "%s", documents.items[i].source);
    }
    return r;
}

const struct command apply_command = {
    .name = "apply",
    .options = &table,
    .options_size = sizeof(struct apply_options),
    .run = apply_run,
};
