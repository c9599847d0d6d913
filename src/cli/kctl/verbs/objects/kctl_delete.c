/* SPDX-License-Identifier: Apache-2.0 */
/* kctl delete - removes objects and their dependents */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/wait_condition.h"
#include "cli/kctl/input/documents.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

#define NO_GRACE_GIVEN (-1)

struct kctl_delete_options {
    struct common_options common;
    const char *timeout;
    struct option_texts files;
    const char *label_selector;
    const char *grace; /* kept as text, to tell 0 from none */
    bool all;
    bool force;
    bool now;
    bool ignores_missing;
    bool waits;
    bool yes;
};

#define PLACE(member) .offset = offsetof(struct kctl_delete_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all",
     .help = "all objects of the type in the namespace",
     .type = OPTION_FLAG,
     PLACE(all)},
    {.name = "filename",
     .letter = 'f',
     .argument = "FILE",
     .help = "the objects in this file",
     .type = OPTION_TEXTS,
     PLACE(files)},
    {.name = "force",
     .help = "with --grace-period=0: forget a pod even if its process still "
             "runs; its cores stay taken until the node reports that the "
             "process is gone",
     .type = OPTION_FLAG,
     PLACE(force)},
    {.name = "grace-period",
     .argument = "SECONDS",
     .help = "how many seconds a process has to end (what its pod says)",
     .type = OPTION_TEXT,
     PLACE(grace)},
    {.name = "ignore-not-found",
     .help = "a name that does not exist is not an error",
     .type = OPTION_FLAG,
     PLACE(ignores_missing)},
    {.name = "now", .help = "the same as --grace-period=1", .type = OPTION_FLAG, PLACE(now)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only objects with these labels",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
    {.name = "timeout",
     .argument = "TIME",
     .help = "with --wait: give up after this long: 90s, 2h (never)",
     .type = OPTION_TEXT,
     PLACE(timeout)},
    {.name = "wait", .help = "wait until they are gone", .type = OPTION_FLAG, PLACE(waits)},
    {.name = "yes",
     .help = "delete a node even if pods run on it; they are started again "
             "elsewhere",
     .type = OPTION_FLAG,
     PLACE(yes)},
};

static const struct option_table table = {
    .name = "kctl delete",
    .usage = "[OPTION]... TYPE NAME...\n"
             "[OPTION]... JOB...\n"
             "[OPTION]... TYPE (-l LIST | --all)\n"
             "[OPTION]... -f FILE",
    .summary = "Remove objects. Removing a job ends it, and the API forgets "
               "it; 'kctl cancel' ends it and keeps the Job object.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl delete 1042\n"
            "  kctl delete pod job-7-0 --grace-period=0 --force",
};

/* The parsed values of the options. */
struct deletion_options {
    int64_t grace_s;    /* NO_GRACE_GIVEN: the object's own */
    int64_t timeout_us; /* 0: never */
};

static int
timeout_of(const struct kctl_delete_options *o, int64_t *ret_us, struct error *err)
{
    *ret_us = 0;
    if (o->timeout == NULL)
        return 0;
    if (!o->waits)
        return error_set(err, -EINVAL, "--timeout requires --wait");
    if (timespan_parse(o->timeout, ret_us) < 0)
        return error_set(err, -EINVAL, "--timeout: '%s' is not a time (90s, 2h)", o->timeout);
    return 0;
}

static int
grace_of(const struct kctl_delete_options *o, int64_t *ret_seconds, struct error *err)
{
    char *end;
    long long seconds;

    *ret_seconds = o->now ? 1 : NO_GRACE_GIVEN;
    if (o->grace == NULL) {
        if (o->force)
            *ret_seconds = 0;
        return 0;
    }
    seconds = strtoll(o->grace, &end, 10);
    if (end == o->grace || *end != '\0' || seconds < -1 || seconds > INT32_MAX)
        return error_set(err, -EINVAL, "--grace-period: '%s' is not a number of seconds", o->grace);
    if (seconds == 0 && !o->force)
        return error_set(err, -EINVAL,
                         "--grace-period=0 forgets a process that may still "
                         "run; give --force too, or use --now");
    *ret_seconds = seconds;
    return 0;
}

static struct json *
delete_body(struct arena *arena, int64_t grace)
{
    struct json *body = json_object(arena);

    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "DeleteOptions");
    json_set_string(arena, body, "propagationPolicy", "Background");
    if (grace >= 0)
        json_set_int(arena, body, "gracePeriodSeconds", grace);
    return body;
}

static int
delete_one(struct kctl *kctl, const struct kctl_delete_options *o,
           const struct target_object *target, const struct deletion_options *how,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = target->kind,
        .namespace = target->namespace,
        .name = target->name,
        .body = delete_body(arena, how->grace_s),
        .query = o->yes && target->kind == &node_kind ? "kiln.hpc/force=true" : NULL,
    };
    int r = kctl_call(kctl, &request, arena, NULL, err);

    if (r == -ENOENT && o->ignores_missing)
        return 0;
    if (r < 0)
        return r;
    printf("%s deleted\n", kctl_label(target, arena));
    fflush(stdout);
    return o->waits ? wait_for_deletion(kctl, target, how->timeout_us, err) : 0;
}

static int
delete_files(struct kctl *kctl, const struct kctl_delete_options *o,
             const struct deletion_options *how, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct documents documents;
    int r = documents_read(kctl, &o->files, arena, &documents, err);

    for (size_t i = 0; r == 0 && i < documents.count; i++)
        r = delete_one(kctl, o, &documents.items[i].target, how, err);
    return r;
}

static int
delete_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct kctl_delete_options *o = options;
    struct named_resources resources;
    struct deletion_options how;
    int result = grace_of(o, &how.grace_s, err);

    kctl->for_tasks = "use 'kctl cancel' for tasks; it keeps the other tasks";
    if (result == 0)
        result = timeout_of(o, &how.timeout_us, err);
    if (result < 0)
        return result;
    if (o->files.count > 0) {
        result = delete_files(kctl, o, &how, err);
        free(o->files.items);
        return result;
    }
    result = resource_select(kctl, NULL, n_operands, operands, o->label_selector, o->all, arena,
                             &resources, err);
    if (result < 0)
        return result;
    if (resources.count == 0)
        fprintf(stderr, "No resources found\n");
    /* The others are deleted even when one does not exist. */
    for (size_t i = 0; i < resources.count; i++) {
        struct error each = {0};
        int r = delete_one(kctl, o, &resources.items[i], &how, &each);

        if (r < 0 && result < 0)
            fprintf(stderr, "kctl: delete: %s\n", err->text);
        if (r < 0)
            result = error_set(err, r, "%s", each.text);
    }
    return result;
}

const struct command delete_command = {
    .name = "delete",
    .options = &table,
    .options_size = sizeof(struct kctl_delete_options),
    .run = delete_run,
};
