/* SPDX-License-Identifier: Apache-2.0 */
/* pod_kiln_rules.c - validation of Kiln's additions to a pod */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

#define MOST_COMMAND_BYTES 4096u
#define PARTITIONS_MAX     8u
#define GPU_WORDS          "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A text without words would match any model. */
static void
check_gpu_type(struct causes *c, const struct json *placement)
{
    const char *text = check_text(placement, "gpuType");

    if (json_get(placement, "gpuType") != NULL
        && (strpbrk(text, GPU_WORDS) == NULL || strlen(text) > 63))
        causes_add(c, CAUSE_INVALID, "gpuType", json_get(placement, "gpuType"),
                   "must be words of a GPU model, such as a100, of at most "
                   "63 characters");
}

/* Checks a list "a,b": distinct names, in the form that the API stores. */
static void
check_partition(struct causes *c, const struct json *placement)
{
    const char *text = check_text(placement, "partition");
    const char *end;
    unsigned count = 0;
    CHECK_TEXTS(seen);

    if (*text == '\0')
        return;
    for (const char *at = text;; at = end + 1) {
        const char *name;

        end = strchrnul(at, ',');
        name = arena_strndup(c->arena, at, (size_t)(end - at));
        if (*name == '\0' || ++count > PARTITIONS_MAX || !check_texts_add(&seen, name)
            || !name_is_valid(NAME_LABEL_VALUE, name)) {
            causes_add(c, CAUSE_INVALID, "partition", json_get(placement, "partition"),
                       "must be the name of a partition, or at most %u "
                       "different names separated by commas",
                       PARTITIONS_MAX);
            return;
        }
        if (*end == '\0')
            return;
    }
}

static void
check_reservation(struct causes *c, const struct json *placement)
{
    const char *text = check_text(placement, "reservation");

    if (*text != '\0' && !name_is_valid(NAME_LABEL_VALUE, text))
        causes_add(c, CAUSE_INVALID, "reservation", json_get(placement, "reservation"),
                   "must be the name of one reservation");
}

static void
check_placement(struct causes *c, const struct json *placement)
{
    check_one_of(c, placement, "numaPolicy",
                 CHECK_VALUES("none", "best-effort", "restricted", "single-numa-node"));
    check_one_of(c, placement, "cpuPolicy", CHECK_VALUES("exclusive", "shared"));
    check_not_negative(c, placement, "threadsPerCore");
    check_not_negative(c, placement, "coresPerSocket");
    check_one_of(c, placement, "distribution", CHECK_VALUES("pack", "scatter", "cyclic"));
    check_one_of(c, placement, "gpuBinding", CHECK_VALUES("closest", "none"));
    check_gpu_type(c, placement);
    check_partition(c, placement);
    check_reservation(c, placement);
    check_one_of(c, placement, "memoryPolicy", CHECK_VALUES("bind", "preferred", "interleave"));
}

static void
check_bound(struct causes *c, const struct json *limit, const char *name)
{
    const char *text = check_text(limit, name);
    char *end;

    if (*text == '\0' || strcmp(text, "unlimited") == 0)
        return;
    errno = 0;
    (void)strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        causes_add(c, CAUSE_INVALID, name, json_get(limit, name),
                   "must be a number or 'unlimited'");
}

static void
check_limits(struct causes *c, const struct json *execution)
{
    const char *const *names =
        CHECK_VALUES("as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice",
                     "nofile", "nproc", "rss", "rtprio", "rttime", "sigpending", "stack");
    const struct json *list = json_get(execution, "limits");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *limit = json_at(list, i);
        unsigned at = causes_enter_index(c, "limits", i);

        if (check_present(c, limit, "name", ""))
            check_one_of(c, limit, "name", names);
        check_bound(c, limit, "soft");
        check_bound(c, limit, "hard");
        causes_leave(c, at);
    }
}

static void
check_umask(struct causes *c, const struct json *execution)
{
    const char *text = check_text(execution, "umask");
    size_t n = strlen(text);

    if (n > 4 || strspn(text, "01234567") != n)
        causes_add(c, CAUSE_INVALID, "umask", json_get(execution, "umask"),
                   "must be up to four octal digits, such as 0022");
}

static void
check_signal(struct causes *c, const struct json *signal)
{
    const char *name = check_text(signal, "name");

    if (!json_is(signal, JSON_OBJECT))
        return;
    if (check_present(c, signal, "name", "")
        && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-") != strlen(name))
        causes_add(c, CAUSE_INVALID, "name", json_get(signal, "name"),
                   "must be the name of a signal without SIG, such as USR1");
    check_not_negative(c, signal, "secondsBefore");
}

static void
check_checkpoint(struct causes *c, const struct json *execution)
{
    const struct json *command = json_get(execution, "checkpointCommand");
    const char *text = check_text(execution, "checkpointCommand");

    if (command == NULL)
        return;
    if (text[strspn(text, " \t\n")] == '\0')
        causes_add(c, CAUSE_INVALID, "checkpointCommand", command,
                   "must be a command; leave it out for none");
    if (strlen(text) > MOST_COMMAND_BYTES)
        causes_add(c, CAUSE_INVALID, "checkpointCommand", NULL,
                   "must be at most %u bytes; put the command into a script", MOST_COMMAND_BYTES);
}

static void
check_execution(struct causes *c, const struct json *execution)
{
    unsigned at;

    check_one_of(c, execution, "openMode", CHECK_VALUES("truncate", "append"));
    check_one_of(c, execution, "runs", CHECK_VALUES("First", "Each"));
    check_umask(c, execution);
    check_limits(c, execution);
    check_not_negative(c, execution, "fenceAfterSeconds");
    check_checkpoint(c, execution);
    at = causes_enter(c, "signal");
    check_signal(c, json_get(execution, "signal"));
    causes_leave(c, at);
}

void
pod_kiln_check(struct causes *c, const struct json *spec)
{
    unsigned at = causes_enter(c, "placement");

    check_placement(c, json_get(spec, "placement"));
    causes_leave(c, at);
    at = causes_enter(c, "execution");
    check_execution(c, json_get(spec, "execution"));
    causes_leave(c, at);
    if (!check_is_set(spec, "schedulingGroup"))
        return;
    at = causes_enter(c, "schedulingGroup");
    if (check_present(c, json_get(spec, "schedulingGroup"), "podGroupName", ""))
        check_name(c, json_get(spec, "schedulingGroup"), "podGroupName", NAME_DNS_SUBDOMAIN);
    causes_leave(c, at);
}
