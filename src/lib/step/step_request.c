/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_request.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/step/byte_text.h"

/* Values in one request: arguments and variables, mostly. */
#define VALUES_MOST (UINT32_C(1) << 18)

static const struct field limit_fields[] = {
    STRING("name", step_limit, name, REQUIRED),
    INT64("soft", step_limit, soft, 0),
};
static const struct record limit_record = {
    .name = "StepLimit",
    .size = sizeof(struct step_limit),
    RECORD_FIELDS(limit_fields),
};

static const struct field streams_fields[] = {
    STRING("input", step_streams, input, 0),
    STRING("output", step_streams, output, 0),
    STRING("error", step_streams, error, 0),
    BOOL("appends", step_streams, appends, 0),
};
static const struct record streams_record = {
    .name = "StepStreams",
    .size = sizeof(struct step_streams),
    RECORD_FIELDS(streams_fields),
};

static const struct field request_fields[] = {
    STRING("podUID", step_request, pod_uid, 0),
    STRING("jobID", step_request, job_id, 0),
    STRING("name", step_request, name, 0),
    LIST(STRING, "arguments", step_request, arguments, 0),
    STRING("programs", step_request, programs, 0),
    LIST(STRING, "environment", step_request, environment, 0),
    STRING("directory", step_request, directory, 0),
    INT("umask", step_request, umask, 0),
    OBJECTS("limits", step_request, limits, limit, 0),
    STRING("taskProlog", step_request, task_prolog, 0),
    STRING("taskEpilog", step_request, task_epilog, 0),
    OBJECT("streams", step_request, streams, streams, 0),
    BOOL("terminal", step_request, has_terminal, 0),
    INT64("terminalRows", step_request, terminal_rows, 0),
    INT64("terminalColumns", step_request, terminal_columns, 0),
    INT64("tasks", step_request, tasks, 0),
    INT64("cpusPerTask", step_request, cpus_per_task, 0),
    INT64("tasksPerNode", step_request, tasks_per_node, 0),
    INT64("minNodes", step_request, min_nodes, 0),
    INT64("maxNodes", step_request, max_nodes, 0),
    INT64("memoryBytes", step_request, memory_bytes, 0),
    INT64("gpusPerTask", step_request, gpus_per_task, 0),
    INT64("gpusPerNode", step_request, gpus_per_node, 0),
    INT64("jobTasks", step_request, job_tasks, 0),
    INT64("jobCPUsPerTask", step_request, job_cpus_per_task, 0),
    BOOL("exact", step_request, is_exact, 0),
    BOOL("overlaps", step_request, overlaps, 0),
    BOOL("overcommits", step_request, overcommits, 0),
    BOOL("immediate", step_request, is_immediate, 0),
    STRING("nodes", step_request, nodes, 0),
    STRING("excludedNodes", step_request, excluded_nodes, 0),
    INT64("firstNode", step_request, first_node, 0),
    STRING("distribution", step_request, distribution, 0),
    STRING("cpuBind", step_request, cpu_bind, 0),
    STRING("mpi", step_request, mpi, 0),
    STRING("mpiSecret", step_request, mpi_secret, 0),
    INT64("timeLimitSeconds", step_request, time_limit_s, 0),
};
static const struct record request_record = {
    .name = "StepRequest",
    .size = sizeof(struct step_request),
    RECORD_FIELDS(request_fields),
};

/* --- texts -----------------------------------------------------------------
 */

typedef const char *text_change_fn(struct arena *arena, const char *text);

static void
change(struct arena *arena, const char **text, text_change_fn *how)
{
    if (*text != NULL)
        *text = how(arena, *text);
}

/* Lists are changed in place. */
static void
change_texts(struct arena *arena, struct step_request *q, text_change_fn *how)
{
    const char **const texts[] = {
        &q->job_id,      &q->name,          &q->programs,       &q->directory,     &q->task_prolog,
        &q->task_epilog, &q->streams.input, &q->streams.output, &q->streams.error,
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        change(arena, texts[i], how);
    for (unsigned i = 0; i < q->arguments.count; i++)
        change(arena, &q->arguments.items[i], how);
    for (unsigned i = 0; i < q->environment.count; i++)
        change(arena, &q->environment.items[i], how);
}

/* --- checks ----------------------------------------------------------------
 */

static int
check_number(const char *member, int64_t n, int64_t most, struct error *err)
{
    if (n >= 0 && n <= most)
        return 0;
    return error_set(err, -EINVAL, "%s: %" PRId64 " is not from 0 to %" PRId64, member, n, most);
}

static int
check_numbers(const struct step_request *q, struct error *err)
{
    const struct {
        const char *member;
        int64_t n, most;
    } numbers[] = {
        {"umask", q->umask, 0777},
        {"terminalRows", q->terminal_rows, UINT16_MAX},
        {"terminalColumns", q->terminal_columns, UINT16_MAX},
        {"tasks", q->tasks, STEP_TASKS_MOST},
        {"cpusPerTask", q->cpus_per_task, STEP_CPUS_MOST},
        {"tasksPerNode", q->tasks_per_node, STEP_TASKS_MOST},
        {"minNodes", q->min_nodes, STEP_NODES_MOST},
        {"maxNodes", q->max_nodes, INT32_MAX},
        {"memoryBytes", q->memory_bytes, INT64_MAX},
        {"gpusPerTask", q->gpus_per_task, STEP_CPUS_MOST},
        {"gpusPerNode", q->gpus_per_node, STEP_CPUS_MOST},
        {"jobTasks", q->job_tasks, STEP_TASKS_MOST},
        {"jobCPUsPerTask", q->job_cpus_per_task, STEP_CPUS_MOST},
        {"firstNode", q->first_node, INT32_MAX},
        {"timeLimitSeconds", q->time_limit_s, STEP_SECONDS_MOST},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++)
        r = check_number(numbers[i].member, numbers[i].n, numbers[i].most, err);
    if (r == 0 && q->max_nodes != 0 && q->max_nodes < q->min_nodes)
        r = error_set(err, -EINVAL, "maxNodes: %" PRId64 " is below minNodes, %" PRId64,
                      q->max_nodes, q->min_nodes);
    for (unsigned i = 0; i < q->limits.count && r == 0; i++)
        if (q->limits.items[i].soft < -1)
            r = error_set(err, -EINVAL, "limits: %s: %" PRId64 " is no limit",
                          q->limits.items[i].name, q->limits.items[i].soft);
    return r;
}

static int
check_command(const struct step_request *q, struct error *err)
{
    if (q->arguments.count == 0 && q->programs == NULL)
        return error_set(err, -EINVAL, "arguments: a command is required");
    if (q->programs == NULL && q->arguments.items[0][0] == '\0')
        return error_set(err, -EINVAL, "arguments: the command is empty");
    for (unsigned i = 0; i < q->environment.count; i++) {
        const char *equal = strchr(q->environment.items[i], '=');

        if (equal == NULL || equal == q->environment.items[i])
            return error_set(err, -EINVAL, "environment: '%.80s' is not NAME=value",
                             q->environment.items[i]);
    }
    return 0;
}

static int
check_files(const struct step_request *q, struct error *err)
{
    const struct {
        const char *member, *text;
    } files[] = {
        {"directory", q->directory},           {"taskProlog", q->task_prolog},
        {"taskEpilog", q->task_epilog},        {"streams.input", q->streams.input},
        {"streams.output", q->streams.output}, {"streams.error", q->streams.error},
    };

    if (q->directory == NULL || q->directory[0] != '/')
        return error_set(err, -EINVAL, "directory: '%.80s' is no absolute path",
                         q->directory != NULL ? q->directory : "");
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (files[i].text != NULL && strlen(files[i].text) >= STEP_PATTERN_MOST)
            return error_set(err, -EINVAL, "%s: longer than %d bytes", files[i].member,
                             STEP_PATTERN_MOST - 1);
    if (q->has_terminal
        && (q->streams.input != NULL || q->streams.output != NULL || q->streams.error != NULL))
        return error_set(err, -EINVAL, "terminal: it has all streams, which cannot be files, too");
    return 0;
}

/* A secret of 128 bits as hexadecimal digits, so that it can be a part of a name. */
static int
check_mpi(const struct step_request *q, struct error *err)
{
    const char *m = q->mpi;

    if (m != NULL && strcmp(m, "none") != 0 && strcmp(m, "pmi1") != 0 && strcmp(m, "pmix") != 0)
        return error_set(err, -EINVAL, "mpi: '%.40s' is not none, pmi1 or pmix", m);
    if (m == NULL || strcmp(m, "pmix") != 0)
        return 0;
    if (q->mpi_secret == NULL || strlen(q->mpi_secret) != STEP_SECRET_DIGITS
        || q->mpi_secret[strspn(q->mpi_secret, "0123456789abcdef")] != '\0')
        return error_set(err, -EINVAL, "mpiSecret: %d hexadecimal digits are required",
                         STEP_SECRET_DIGITS);
    return 0;
}

int
step_request_check(const struct step_request *q, struct error *err)
{
    int r;

    if (q->pod_uid == NULL)
        return error_set(err, -EINVAL, "podUID: required");
    r = check_numbers(q, err);
    if (r == 0)
        r = check_mpi(q, err);
    if (r == 0)
        r = check_command(q, err);
    return r == 0 ? check_files(q, err) : r;
}

/* --- the text --------------------------------------------------------------
 */

#define COPY_LIST(arena, list)                                              \
    ((list).items = (list).count == 0 ? NULL                                \
                                      : arena_memdup((arena), (list).items, \
                                                     (list).count * sizeof(*(list).items)))

void
step_request_encode(const struct step_request *request, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_request q = *request;

    COPY_LIST(arena, q.arguments);
    COPY_LIST(arena, q.environment);
    change_texts(arena, &q, byte_text_encode);
    json_print(record_encode(&request_record, arena, &q), out);
}

int
step_request_decode(struct arena *arena, const char *text, size_t length,
                    struct step_request *ret_request, struct error *err)
{
    struct step_request q = {0};
    struct json_notes twice = {0};
    struct record_notes notes = {0};
    struct json *tree;
    int r;

    if (length > STEP_REQUEST_BYTES_MOST)
        return error_set(err, -E2BIG, "the request of a step has %zu bytes; %u are allowed", length,
                         STEP_REQUEST_BYTES_MOST);
    tree = json_parse_bounded(arena, text, length, VALUES_MOST, &twice, err);
    if (tree == NULL)
        return error_wrap(err, -EINVAL, "the request of a step");
    if (twice.n_duplicates > 0)
        return error_set(err, -EINVAL, "%.80s: given twice", twice.duplicates[0]);
    r = record_normalize(&request_record, arena, tree, &notes, err);
    if (r < 0)
        return r;
    if (notes.n_unknown > 0)
        return error_set(err, -ENOTSUP, "%.80s: this node's agent is older and does not know it",
                         notes.unknown[0]);
    record_decode(&request_record, arena, tree, &q);
    change_texts(arena, &q, byte_text_decode);
    r = step_request_check(&q, err);
    if (r == 0)
        *ret_request = q;
    return r;
}

void
step_request_keep_place(struct arena *arena, const struct step_request *from,
                        struct step_request *ret_request)
{
    struct step_request q = *from;
    const char **const kept[] = {&q.pod_uid, &q.nodes, &q.excluded_nodes, &q.distribution,
                                 &q.cpu_bind};
    const char **const dropped[] = {&q.job_id,     &q.name,      &q.programs,    &q.mpi,
                                    &q.mpi_secret, &q.directory, &q.task_prolog, &q.task_epilog};

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (*kept[i] != NULL)
            *kept[i] = arena_strdup(arena, *kept[i]);
    for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
        *dropped[i] = NULL;
    q.streams = (struct step_streams){0};
    q.arguments.items = q.environment.items = NULL;
    q.arguments.count = q.environment.count = 0;
    q.limits.items = NULL;
    q.limits.count = 0;
    *ret_request = q;
}

const char *
step_request_variable(const struct step_request *request, const char *name)
{
    const size_t length = strlen(name);

    for (unsigned i = 0; i < request->environment.count; i++) {
        const char *item = request->environment.items[i];

        if (strncmp(item, name, length) == 0 && item[length] == '=')
            return item + length + 1;
    }
    return NULL;
}
