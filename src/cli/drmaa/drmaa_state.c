/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/drmaa/drmaa_state.h"
#include "cli/drmaa/drmaa.h"
#include "cli/drmaa/drmaa_program.h"
#include "cli/drmaa/drmaa_session.h"
#include "cli/drmaa/drmaa_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
state_is_id(const char *id)
{
    size_t digits = id != NULL ? strspn(id, "0123456789") : 0;
    if (digits == 0 || digits > 18)
        return false;
    if (id[digits] == '\0')
        return true;
    size_t task = strspn(id + digits + 1, "0123456789");
    return id[digits] == '_' && task > 0 && task <= 18 && id[digits + 1 + task] == '\0';
}

bool
state_has_ended(int state)
{
    return state == DRMAA_PS_DONE || state == DRMAA_PS_FAILED;
}

/* Of Slurm's words; sacct adds " by UID" to CANCELLED. */
static int
state_of(const char *word, const char *reason)
{
    if (strcmp(word, "PENDING") == 0 || strncmp(word, "REQUEUE", 7) == 0) {
        if (strcmp(reason, "JobHeldUser") == 0)
            return DRMAA_PS_USER_ON_HOLD;
        return strcmp(reason, "JobHeldAdmin") == 0 ? DRMAA_PS_SYSTEM_ON_HOLD
                                                   : DRMAA_PS_QUEUED_ACTIVE;
    }
    if (strcmp(word, "SUSPENDED") == 0)
        return DRMAA_PS_SYSTEM_SUSPENDED; /* only operators and preemption do */
    if (strcmp(word, "RUNNING") == 0 || strcmp(word, "COMPLETING") == 0
        || strcmp(word, "CONFIGURING") == 0)
        return DRMAA_PS_RUNNING;
    if (strcmp(word, "COMPLETED") == 0)
        return DRMAA_PS_DONE;
    static const char *const FAILED[] = {"FAILED",    "TIMEOUT",   "OUT_OF_MEMORY", "NODE_FAIL",
                                         "PREEMPTED", "CANCELLED", "DEADLINE",      "BOOT_FAIL"};
    for (size_t i = 0; i < sizeof FAILED / sizeof *FAILED; i++)
        if (strncmp(word, FAILED[i], strlen(FAILED[i])) == 0)
            return DRMAA_PS_FAILED;
    return DRMAA_PS_UNDETERMINED;
}

/* Reads lines ID|STATE|REASON; changes output. */
static void
read_states(char *output, const char *const *ids, size_t count, int *ret_states)
{
    char *rest = output, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *id = strsep(&line, "|"), *word = strsep(&line, "|");
        if (word == NULL)
            continue;
        for (size_t i = 0; i < count; i++)
            if (ret_states[i] == STATE_UNKNOWN_JOB && strcmp(ids[i], id) == 0)
                ret_states[i] = state_of(word, line != NULL ? line : "");
    }
}

/* Asks one of the programs about those of which nothing is known yet. */
static int
ask(const char *name, const char *const *options, const char *const *ids, size_t count,
    int *ret_states, char *diagnosis, size_t size)
{
    char *list = NULL;
    size_t length;
    bool is_any = false;
    FILE *stream = open_memstream(&list, &length);
    if (stream == NULL)
        return diagnose(diagnosis, size, DRMAA_ERRNO_NO_MEMORY, NULL);
    for (size_t i = 0; i < count; i++) {
        if (ret_states[i] != STATE_UNKNOWN_JOB)
            continue;
        fprintf(stream, "%s%s", is_any ? "," : "", ids[i]);
        is_any = true;
    }
    fclose(stream);
    int code = DRMAA_ERRNO_SUCCESS;
    if (is_any && list != NULL) {
        struct drmaa_words arguments = {};
        struct program_result result;
        for (; *options != NULL; options++)
            words_add(&arguments, "%s", *options);
        words_add(&arguments, "%s", list);
        code = program_run(name, &arguments, NULL, NULL, &result, diagnosis, size);
        if (code == DRMAA_ERRNO_SUCCESS) {
            if (*result.errors != '\0' && *result.output == '\0'
                && strstr(result.errors, "Invalid job id specified") == NULL)
                code = diagnose(diagnosis, size, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE, "%s",
                                result.errors);
            else
                read_states(result.output, ids, count, ret_states);
        }
        program_result_clear(&result);
        words_clear(&arguments);
    }
    free(list);
    return code;
}

int
state_find(const char *const *ids, size_t count, int *ret_states, char *diagnosis, size_t size)
{
    static const char *const SQUEUE[] = {"-h", "-r", "-t", "all", "-o", "%i|%T|%r", "-j", NULL};
    /* Jobs that ended long ago, or were deleted since. */
    static const char *const SACCT[] = {"-n", "-P", "-X", "-o", "JobID,State", "-j", NULL};
    for (size_t i = 0; i < count; i++)
        ret_states[i] = STATE_UNKNOWN_JOB;
    for (size_t i = 0; i < count; i += STATE_CHUNK) {
        size_t part = count - i < STATE_CHUNK ? count - i : STATE_CHUNK;
        int code = ask("squeue", SQUEUE, ids + i, part, ret_states + i, diagnosis, size);
        if (code == DRMAA_ERRNO_SUCCESS)
            code = ask("sacct", SACCT, ids + i, part, ret_states + i, diagnosis, size);
        if (code != DRMAA_ERRNO_SUCCESS)
            return code;
    }
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_job_ps(const char *job_id, int *remote_ps, char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (job_id == NULL || remote_ps == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    int state = STATE_UNKNOWN_JOB;
    if (state_is_id(job_id))
        code = state_find(&job_id, 1, &state, error_diagnosis, error_diag_len);
    if (code == DRMAA_ERRNO_SUCCESS && state == STATE_UNKNOWN_JOB)
        code = diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_JOB,
                        "there is no job '%s'", job_id);
    if (code == DRMAA_ERRNO_SUCCESS)
        *remote_ps = state;
    return code;
}

static const struct {
    const char *verb;
    int code; /* if the state is another */
} ACTIONS[] = {
    [DRMAA_CONTROL_SUSPEND] = {"suspend", DRMAA_ERRNO_SUSPEND_INCONSISTENT_STATE},
    [DRMAA_CONTROL_RESUME] = {"resume", DRMAA_ERRNO_RESUME_INCONSISTENT_STATE},
    [DRMAA_CONTROL_HOLD] = {"hold", DRMAA_ERRNO_HOLD_INCONSISTENT_STATE},
    [DRMAA_CONTROL_RELEASE] = {"release", DRMAA_ERRNO_RELEASE_INCONSISTENT_STATE},
    [DRMAA_CONTROL_TERMINATE] = {"cancel", DRMAA_ERRNO_INVALID_JOB},
};

static bool
is_fit(int action, int state)
{
    switch (action) {
    case DRMAA_CONTROL_SUSPEND:
        return state == DRMAA_PS_RUNNING;
    case DRMAA_CONTROL_RESUME:
        return state == DRMAA_PS_SYSTEM_SUSPENDED;
    case DRMAA_CONTROL_HOLD:
        return state == DRMAA_PS_QUEUED_ACTIVE;
    case DRMAA_CONTROL_RELEASE:
        return state == DRMAA_PS_USER_ON_HOLD || state == DRMAA_PS_SYSTEM_ON_HOLD;
    default:
        return true; /* the end of a job that has ended is there already */
    }
}

/* Does it to all jobs of the chunk that it fits, and says then whether there was another. */
static int
act(int action, bool is_all, const char *const *ids, size_t count, char *diagnosis, size_t size)
{
    int states[STATE_CHUNK];
    int code = state_find(ids, count, states, diagnosis, size);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    struct drmaa_words arguments = {};
    struct program_result result = {};
    size_t misfit = count, unknown = count;
    words_add(&arguments, "%s", ACTIONS[action].verb);
    for (size_t i = 0; i < count; i++) {
        if (states[i] == STATE_UNKNOWN_JOB)
            unknown = i;
        else if (state_has_ended(states[i]) && (is_all || action == DRMAA_CONTROL_TERMINATE))
            continue;
        else if (is_fit(action, states[i]))
            words_add(&arguments, "%s", ids[i]);
        else
            misfit = i;
    }
    if (arguments.count > 1)
        code = program_run("kctl", &arguments, NULL, NULL, &result, diagnosis, size);
    if (code == DRMAA_ERRNO_SUCCESS && arguments.count > 1
        && (result.exit_code > 0 || (result.exit_code < 0 && *result.errors != '\0')))
        code = program_failure("kctl", &result, diagnosis, size);
    program_result_clear(&result);
    words_clear(&arguments);
    if (code == DRMAA_ERRNO_SUCCESS && unknown < count && !is_all)
        code = diagnose(diagnosis, size, DRMAA_ERRNO_INVALID_JOB, "there is no job '%s'",
                        ids[unknown]);
    if (code == DRMAA_ERRNO_SUCCESS && misfit < count)
        code = diagnose(diagnosis, size, ACTIONS[action].code, "job %s: %s", ids[misfit],
                        drmaa_strerror(ACTIONS[action].code));
    return code;
}

DRMAA_EXPORT int
drmaa_control(const char *jobid, int action, char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jobid == NULL || action < DRMAA_CONTROL_SUSPEND || action > DRMAA_CONTROL_TERMINATE)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    bool is_all = strcmp(jobid, DRMAA_JOB_IDS_SESSION_ALL) == 0;
    struct drmaa_words ids = {};
    if (is_all)
        session_open_jobs(&ids);
    else if (state_is_id(jobid))
        words_add(&ids, "%s", jobid);
    else
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_JOB,
                        "'%s' is not the id of a job", jobid);
    for (size_t i = 0; i < ids.count; i += STATE_CHUNK) {
        size_t part = ids.count - i < STATE_CHUNK ? ids.count - i : STATE_CHUNK;
        int r = act(action, is_all, (const char *const *)ids.word + i, part, error_diagnosis,
                    error_diag_len);
        code = r != DRMAA_ERRNO_SUCCESS ? r : code;
    }
    words_clear(&ids);
    return code;
}
