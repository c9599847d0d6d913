/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/job_environment.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/ksub/submission.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

/* An agent or Slurm set these variables for the outer job, when ksub runs
 * inside one.
 */
static bool
is_of_another_job(const char *entry)
{
    static const char *const ours[] = {"KILN_SERVER=", "KILN_CONFIG="};

    if (strncmp(entry, "SLURM_", 6) == 0 || strncmp(entry, "SLURMD_", 7) == 0)
        return true;
    if (strncmp(entry, "KILN_", 5) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (strncmp(entry, ours[i], strlen(ours[i])) == 0)
            return false;
    return true;
}

static void
add_entry(struct strbuf *out, const char *entry)
{
    strbuf_add(out, entry, strlen(entry) + 1);
}

static const char *
find_entry(char *const *environment, const char *name, size_t length)
{
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment;
    return NULL;
}

/* Copies the next item of the list, without quotes, to `item`; false at the
 * end.
 */
static bool
next_item(const char **list, struct strbuf *item)
{
    const char *p = *list;
    char quote = '\0';

    strbuf_truncate(item, 0);
    while (*p == ',')
        p++;
    if (*p == '\0')
        return false;
    for (; *p != '\0' && (quote != '\0' || *p != ','); p++) {
        if (*p == quote)
            quote = '\0';
        else if (quote == '\0' && (*p == '"' || *p == '\''))
            quote = *p;
        else
            strbuf_add_char(item, *p);
    }
    *list = p;
    return true;
}

int
job_environment_check(const char *list, struct error *err)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;

    while (next_item(&list, &item))
        if (item.length > 0 && item.text[0] == '=')
            return error_set(err, -EINVAL, "'%.60s' has no name before its '='", item.text);
    return 0;
}

static bool
says_all(const char *list)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;

    while (next_item(&list, &item))
        if (strcasecmp(item.text, "ALL") == 0)
            return true;
    return false;
}

static bool
is_none(const char *list)
{
    return strcasecmp(list, "NONE") == 0 || strcasecmp(list, "NIL") == 0;
}

/* Whether the list sets a value for the variable of that entry. */
static bool
replaces(const char *list, const char *entry)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;
    const size_t length = strcspn(entry, "=") + 1;

    while (next_item(&list, &item))
        if (strncmp(item.text, entry, length) == 0)
            return true;
    return false;
}

/* A shell cannot make an entry such as "=x" or "x", but a program can. No
 * program can read it, either.
 */
static bool
has_name(const char *entry)
{
    return entry[0] != '=' && strchr(entry, '=') != NULL;
}

static void
add_all(struct strbuf *out, const char *list, char *const *environment)
{
    for (; *environment != NULL; environment++)
        if (has_name(*environment) && !is_of_another_job(*environment)
            && !replaces(list, *environment))
            add_entry(out, *environment);
}

static void
add_list(struct strbuf *out, const char *list, char *const *environment)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;

    while (next_item(&list, &item)) {
        const char *found;

        if (strchr(item.text, '=') != NULL) {
            add_entry(out, item.text);
            continue;
        }
        found = find_entry(environment, item.text, item.length);
        if (found != NULL)
            add_entry(out, found);
    }
}

static void PRINTF(2, 3) add_variable(struct strbuf *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    strbuf_vprintf(out, format, args);
    va_end(args);
    strbuf_add_char(out, '\0');
}

/* Only ksub knows these values; doc/decisions.md says who sets the rest. */
static void
add_ours(struct strbuf *out, const struct submission *s)
{
    char directory[PATH_MAX];
    char host[HOST_NAME_MAX + 1] = "";

    if (getcwd(directory, sizeof(directory)) != NULL)
        add_variable(out, "KILN_SUBMIT_DIR=%s", directory);
    if (gethostname(host, sizeof(host) - 1) == 0)
        add_variable(out, "KILN_SUBMIT_HOST=%s", host);
    add_variable(out, "KILN_NTASKS=%" PRId64, s->tasks > 0 ? s->tasks : INT64_C(1));
    if (s->cpus_per_task > 0)
        add_variable(out, "KILN_CPUS_PER_TASK=%" PRId64, s->cpus_per_task);
    if (s->memory_per_cpu_bytes > 0)
        add_variable(out, "KILN_MEM_PER_CPU_MB=%" PRId64, s->memory_per_cpu_bytes >> 20);
    add_variable(out, "KILN_JOB_ACCOUNT=%s", s->account != NULL ? s->account : "default");
    if (s->partition != NULL)
        add_variable(out, "KILN_JOB_PARTITION=%s", s->partition);
}

void
job_environment(const struct submission *s, char *const *environment, struct strbuf *out)
{
    const char *list = s->exported != NULL ? s->exported : "ALL";

    if (!is_none(list)) {
        if (says_all(list))
            add_all(out, list, environment);
        add_list(out, list, environment);
    }
    add_ours(out, s);
}
