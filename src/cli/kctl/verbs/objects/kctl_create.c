/* SPDX-License-Identifier: Apache-2.0 */
/* kctl create, kctl replace - send objects from files to the API unchanged */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/documents.h"
#include "cli/kctl/output/listing.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct write_options {
    struct common_options common;
    struct option_texts files;
    const char *form;
    bool dry_run;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "dry-run",
     .help = "let the controller check it, but change nothing",
     .type = OPTION_FLAG,
     .offset = offsetof(struct write_options, dry_run)},
    {.name = "filename",
     .letter = 'f',
     .argument = "FILE",
     .help = "YAML or JSON, several documents in one; a directory of such "
             "files; '-' is the standard input; may be given again",
     .type = OPTION_TEXTS,
     .offset = offsetof(struct write_options, files)},
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "print the object: json, yaml or name",
     .type = OPTION_TEXT,
     .offset = offsetof(struct write_options, form)},
};

static const struct option_table create_table = {
    .name = "kctl create",
    .usage = "[OPTION]... -f FILE\n"
             "[OPTION]... namespace NAME\n"
             "[OPTION]... account NAME",
    .summary = "Create the objects in files, or a namespace (account). The name of an account may "
               "have capitals and any of _.@+: too; its namespace is then named like it.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl create -f job.yaml\n"
            "  kctl create namespace physics\n"
            "  kctl create account six@v100",
};

static const struct option_table replace_table = {
    .name = "kctl replace",
    .usage = "[OPTION]... -f FILE",
    .summary = "Replace objects by those in files.",
    OPTION_ROWS(rows),
    .more = "Example: kctl get node n7 -o yaml >n7.yaml; edit it; "
            "kctl replace -f n7.yaml",
};

static void
print_done(const struct write_options *o, const struct document *d, const struct json *answer,
           const char *what)
{
    const char *name = json_path_text(answer, "metadata.name");
    const int64_t id = json_get_int(json_get(answer, "status"), "id", 0);

    printf("%s/%s %s%s", d->target.kind->singular, name != NULL ? name : "?", what,
           o->dry_run ? " (dry run)" : "");
    if (id > 0)
        printf(" (job %lld)", (long long)id);
    putchar('\n');
}

static int
print_answer(const struct write_options *o, const struct document *d, const struct json *answer,
             const char *what, struct error *err)
{
    struct listing_style style = {0};
    struct listing *listing;
    int r;

    if (o->form == NULL) {
        print_done(o, d, answer, what);
        return 0;
    }
    r = listing_style_parse(o->form, &style, err);
    if (r < 0)
        return r;
    listing = listing_new(&style, d->target.kind);
    listing_add(listing, answer);
    listing_print(listing);
    listing_free(listing);
    return 0;
}

static int
write_one(struct kctl *kctl, const struct write_options *o, enum client_verb verb, const char *what,
          const struct document *d, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct client_request request = {
        .verb = verb,
        .kind = d->target.kind,
        .namespace = d->target.namespace,
        .name = verb == CLIENT_CREATE ? NULL : d->target.name,
        .body = d->object,
        .query = o->dry_run ? "fieldValidation=Strict&dryRun=All" : "fieldValidation=Strict",
    };
    struct json *answer = NULL;
    int r;

    if (verb == CLIENT_REPLACE && d->target.name == NULL)
        return error_set(err, -EINVAL, "%s: metadata.name is required", d->source);
    r = kctl_call(kctl, &request, arena, &answer, err);
    if (r < 0)
        return d->source != NULL ? error_wrap(err, r, "%s", d->source) : r;
    return print_answer(o, d, answer, what, err);
}

/* Sends the objects in the order of the files, and stops at the first failure.
 */
static int
write_all(struct kctl *kctl, const struct write_options *o, enum client_verb verb, const char *what,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct documents documents;
    int r = documents_read(kctl, &o->files, arena, &documents, err);

    for (size_t i = 0; r == 0 && i < documents.count; i++)
        r = write_one(kctl, o, verb, what, &documents.items[i], err);
    return r;
}

/* "six@v100" is "six-v100". */
static const char *
name_namespace(const char *account, struct arena *arena)
{
    char *name = arena_strdup(arena, account);
    size_t length = 0;

    for (const char *p = account; *p != '\0'; p++)
        if (isalnum((unsigned char)*p))
            name[length++] = (char)tolower((unsigned char)*p);
        else if (length > 0 && name[length - 1] != '-')
            name[length++] = '-';
    while (length > 0 && name[length - 1] == '-')
        length--;
    name[length] = '\0';
    return name;
}

/* One object has both names, so that nothing is between the two. */
static int
create_namespace(struct kctl *kctl, const struct write_options *o, const char *account,
                 const char *name, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct document d = {
        .target = {.kind = &namespace_kind, .name = name},
        .object = json_object(arena),
    };

    json_set_string(arena, d.object, "apiVersion", namespace_kind.api_version);
    json_set_string(arena, d.object, "kind", namespace_kind.name);
    json_set_string(arena, json_make_object(arena, d.object, "metadata"), "name", name);
    if (strcmp(account, name) != 0)
        json_set_string(arena,
                        json_make_object(arena, json_get(d.object, "metadata"), "annotations"),
                        ANNOTATION_ACCOUNT, account);
    return write_one(kctl, o, CLIENT_CREATE, "created", &d, err);
}

/* Whether the namespace is that account already, in any case of letters. */
static bool
is_account(struct kctl *kctl, const char *namespace, const char *account, struct arena *arena)
{
    const struct target_object object = {.kind = &namespace_kind, .name = namespace};
    struct json *found = NULL;
    const char *spelling;

    if (kctl_get(kctl, &object, arena, &found, NULL) < 0)
        return false;
    spelling = json_get_text(json_get_path(found, "metadata.annotations"), ANNOTATION_ACCOUNT);
    return strcasecmp(spelling != NULL ? spelling : namespace, account) == 0;
}

static int
create_account(struct kctl *kctl, const struct write_options *o, const char *account,
               struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *name = name_namespace(account, arena);
    int r = create_namespace(kctl, o, account, name, err);

    if (r == -EEXIST && is_account(kctl, name, account, arena))
        return error_set(err, r, "account '%s' already exists: it is namespace '%s'", account,
                         name);
    if (r == -EEXIST && strcmp(account, name) != 0)
        return error_set(err, r,
                         "the namespace of account '%s' would be '%s', which exists; 'kctl "
                         "annotate namespace %s " ANNOTATION_ACCOUNT "=%s' gives it this name, or "
                         "create one of another name and annotate that",
                         account, name, name, account);
    return r;
}

static bool
is_namespace(const char *type)
{
    return strcmp(type, "namespace") == 0 || strcmp(type, "ns") == 0;
}

static int
create_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    const struct write_options *o = options;
    int r;

    if (n_operands == 2 && o->files.count == 0 && is_namespace(operands[0]))
        return create_namespace(kctl, o, operands[1], operands[1], err);
    if (n_operands == 2 && o->files.count == 0 && strcmp(operands[0], "account") == 0)
        return create_account(kctl, o, operands[1], err);
    if (n_operands > 0)
        return error_set(err, -EINVAL,
                         "'%s' is not expected; give files with -f, or create "
                         "an account with 'create account NAME'",
                         operands[0]);
    r = write_all(kctl, o, CLIENT_CREATE, "created", err);
    free(o->files.items);
    return r;
}

static int
replace_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    const struct write_options *o = options;
    int r;

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected; give files with -f", operands[0]);
    r = write_all(kctl, o, CLIENT_REPLACE, "replaced", err);
    free(o->files.items);
    return r;
}

const struct command create_command = {
    .name = "create",
    .options = &create_table,
    .options_size = sizeof(struct write_options),
    .run = create_run,
};

const struct command replace_command = {
    .name = "replace",
    .options = &replace_table,
    .options_size = sizeof(struct write_options),
    .run = replace_run,
};
