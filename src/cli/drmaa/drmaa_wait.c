/* SPDX-License-Identifier: Apache-2.0 */
/* "The first end of many jobs" is a question that the API does not have, so it is asked again
 * and again, ever more seldom. Which exit code a job had is known for certain only when
 * history has its last attempt; right after the end, the signal may still be missing, and so
 * the answer is awaited for a moment.
 */
#include "cli/drmaa/drmaa.h"
#include "cli/drmaa/drmaa_program.h"
#include "cli/drmaa/drmaa_session.h"
#include "cli/drmaa/drmaa_state.h"
#include "cli/drmaa/drmaa_words.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The bits of stat: how the job ended, and the exit code or the signal. */
enum {
    STAT_EXITED = 0x100,
    STAT_SIGNALED = 0x200,
    STAT_ABORTED = 0x400, /* it never ran, or nobody knows how it ended */
    STAT_VALUE = 0xff,
};

static int64_t
clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
sleep_ms(int64_t duration)
{
    struct timespec time = {.tv_sec = duration / 1000, .tv_nsec = duration % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* In clock_ms(); INT64_MAX: for ever. */
static int64_t
deadline_of(signed long timeout)
{
    return timeout == DRMAA_TIMEOUT_WAIT_FOREVER ? INT64_MAX
                                                 : clock_ms() + (timeout > 0 ? timeout : 0) * 1000;
}

/* Waits for the end of all these jobs, or until the deadline, without an answer: their states tell
 * what came. */
static int
await(const char *const *ids, size_t count, int64_t deadline, char *diagnosis, size_t size)
{
    struct drmaa_words arguments = {};
    struct program_result result;
    words_add(&arguments, "wait");
    if (deadline != INT64_MAX) {
        int64_t left = deadline - clock_ms();
        words_add(&arguments, "--timeout=%llds", (long long)(left > 0 ? (left + 999) / 1000 : 1));
    }
    for (size_t i = 0; i < count; i++)
        words_add(&arguments, "%s", ids[i]);
    int code = program_run("kctl", &arguments, NULL, NULL, &result, diagnosis, size);
    program_result_clear(&result);
    words_clear(&arguments);
    return code;
}

/* At most STATE_CHUNK jobs. All of them have ended if it returns success; those of which nothing is
 * known count as ended if is_unknown_fine. */
static int
wait_for_chunk(const char *const *ids, size_t count, bool is_unknown_fine, int64_t deadline,
               char *diagnosis, size_t size)
{
    int states[STATE_CHUNK];
    const char *open[STATE_CHUNK];
    for (int64_t pause = 50;; pause = pause < 2000 ? pause * 2 : pause) {
        int code = state_find(ids, count, states, diagnosis, size);
        if (code != DRMAA_ERRNO_SUCCESS)
            return code;
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            if (states[i] == STATE_UNKNOWN_JOB && !is_unknown_fine)
                return diagnose(diagnosis, size, DRMAA_ERRNO_INVALID_JOB, "there is no job '%s'",
                                ids[i]);
            if (states[i] != STATE_UNKNOWN_JOB && !state_has_ended(states[i]))
                open[left++] = ids[i];
        }
        if (left == 0)
            return DRMAA_ERRNO_SUCCESS;
        int64_t before = clock_ms();
        if (before >= deadline)
            return diagnose(diagnosis, size, DRMAA_ERRNO_EXIT_TIMEOUT, NULL);
        code = await(open, left, deadline, diagnosis, size);
        if (code != DRMAA_ERRNO_SUCCESS)
            return code;
        /* It came back at once, and did not wait: for instance because it may not. */
        if (clock_ms() - before < pause)
            sleep_ms(pause);
    }
}

DRMAA_EXPORT int
drmaa_synchronize(const char *job_ids[], signed long timeout, int dispose, char *error_diagnosis,
                  size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (job_ids == NULL || timeout < -1)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    int64_t deadline = deadline_of(timeout);
    struct drmaa_words ids = {};
    bool is_all = false;
    for (; *job_ids != NULL && code == DRMAA_ERRNO_SUCCESS; job_ids++) {
        if (strcmp(*job_ids, DRMAA_JOB_IDS_SESSION_ALL) == 0) {
            is_all = true;
            session_open_jobs(&ids);
        } else if (!state_is_id(*job_ids) || session_is_reaped(*job_ids)) {
            code = diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_JOB,
                            "there is no job '%s', or it was waited for already", *job_ids);
        } else {
            words_add(&ids, "%s", *job_ids);
        }
    }
    if (ids.is_out_of_memory)
        code = diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    for (size_t i = 0; i < ids.count && code == DRMAA_ERRNO_SUCCESS; i += STATE_CHUNK) {
        size_t part = ids.count - i < STATE_CHUNK ? ids.count - i : STATE_CHUNK;
        code = wait_for_chunk((const char *const *)ids.word + i, part, is_all, deadline,
                              error_diagnosis, error_diag_len);
    }
    for (size_t i = 0; i < ids.count && code == DRMAA_ERRNO_SUCCESS && dispose; i++)
        session_reap(ids.word[i]);
    words_clear(&ids);
    return code;
}

/* Waits until one of the session's jobs has ended, and takes it. There is no request for the first
 * end of many, so this asks again and again, ever more seldom. */
static int
take_any(int64_t deadline, char **ret_id, char *diagnosis, size_t size)
{
    *ret_id = NULL;
    for (int64_t pause = 50;; pause = pause < 2000 ? pause * 3 / 2 : pause) {
        int code = session_check(diagnosis, size);
        struct drmaa_words ids = {};
        if (code == DRMAA_ERRNO_SUCCESS)
            session_open_jobs(&ids);
        if (code == DRMAA_ERRNO_SUCCESS && ids.count == 0)
            code = diagnose(diagnosis, size, DRMAA_ERRNO_INVALID_JOB,
                            "the session has no job that was not waited for");
        for (size_t i = 0; i < ids.count && code == DRMAA_ERRNO_SUCCESS && !*ret_id;
             i += STATE_CHUNK) {
            int states[STATE_CHUNK];
            size_t part = ids.count - i < STATE_CHUNK ? ids.count - i : STATE_CHUNK;
            code = state_find((const char *const *)ids.word + i, part, states, diagnosis, size);
            for (size_t n = 0; n < part && code == DRMAA_ERRNO_SUCCESS && !*ret_id; n++)
                if ((states[n] == STATE_UNKNOWN_JOB || state_has_ended(states[n]))
                    && session_reap(ids.word[i + n]))
                    *ret_id = strdup(ids.word[i + n]);
        }
        words_clear(&ids);
        if (code != DRMAA_ERRNO_SUCCESS || *ret_id != NULL)
            return code;
        int64_t left = deadline == INT64_MAX ? pause : deadline - clock_ms();
        if (left <= 0)
            return diagnose(diagnosis, size, DRMAA_ERRNO_EXIT_TIMEOUT, NULL);
        sleep_ms(left < pause ? left : pause);
    }
}

/* Reads CODE:SIGNAL. */
static void
read_end(const char *text, int *exit_code, int *signal_number)
{
    char *end;
    *exit_code = (int)strtol(text, &end, 10);
    *signal_number = *end == ':' ? atoi(end + 1) : 0;
}

enum outcome_column {
    C_ID,
    C_STATE,
    C_EXIT,
    C_SUBMIT,
    C_START,
    C_END,
    C_ELAPSED,
    C_CPU,
    C_RSS,
    C_NODES,
    C_COUNT
};

static void
add_usage(struct drmaa_words *usage, const char *name, const char *value)
{
    if (*value != '\0' && strcmp(value, "Unknown") != 0 && strcmp(value, "None assigned") != 0)
        words_add(usage, "%s=%s", name, value);
}

/* [D-][H:]M:S[.FFF] as seconds. */
static double
cpu_seconds(const char *text)
{
    double days = 0, sum = 0;
    const char *dash = strchr(text, '-');
    if (dash != NULL) {
        days = atof(text);
        text = dash + 1;
    }
    for (;; text++) {
        sum = sum * 60 + atof(text);
        text += strcspn(text, ":");
        if (*text == '\0')
            return days * 86400 + sum;
    }
}

/* From the rows of the job and of its script in sacct. False: nothing is known of it. */
static bool
read_outcome(const char *id, char *output, int *ret_stat, struct drmaa_words *usage)
{
    char *rest = output, *line;
    bool is_known = false, has_run = false;
    int exit_code = 0, signal_number = 0;
    size_t length = strlen(id);
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *cell[C_COUNT];
        for (int i = 0; i < C_COUNT; i++) {
            cell[i] = strsep(&line, "|");
            if (cell[i] == NULL)
                cell[i] = "";
        }
        if (strcmp(cell[C_ID], id) == 0) {
            words_clear(usage);
            is_known = true;
            has_run = strcmp(cell[C_NODES], "None assigned") != 0 && *cell[C_NODES] != '\0';
            read_end(cell[C_EXIT], &exit_code, &signal_number);
            add_usage(usage, "state", cell[C_STATE]);
            add_usage(usage, "submission_time", cell[C_SUBMIT]);
            add_usage(usage, "start_time", cell[C_START]);
            add_usage(usage, "end_time", cell[C_END]);
            add_usage(usage, "wallclock", cell[C_ELAPSED]);
            words_add(usage, "cpu=%.3f", cpu_seconds(cell[C_CPU]));
            add_usage(usage, "nodes", cell[C_NODES]);
        } else if (strncmp(cell[C_ID], id, length) == 0
                   && strcmp(cell[C_ID] + length, ".batch") == 0) {
            /* The signal that ended a job that was told to end is only here. */
            if (exit_code == 0 && signal_number == 0)
                read_end(cell[C_EXIT], &exit_code, &signal_number);
            add_usage(usage, "maxrss", cell[C_RSS]);
        }
    }
    if (!is_known)
        return false;
    const char *state = usage->count > 0 ? usage->word[0] + strlen("state=") : "";
    bool was_told = strcmp(state, "COMPLETED") != 0 && strcmp(state, "FAILED") != 0;
    if (was_told && exit_code > 128 && signal_number == 0) /* as a shell says it */
        signal_number = exit_code - 128;
    if (!has_run)
        *ret_stat = STAT_ABORTED;
    else if (signal_number > 0)
        *ret_stat = STAT_SIGNALED | (signal_number & STAT_VALUE);
    else if (exit_code > 0 || !was_told)
        *ret_stat = STAT_EXITED | (exit_code & STAT_VALUE);
    else if (strcmp(state, "NODE_FAIL") == 0)
        *ret_stat = STAT_ABORTED;
    else /* a limit or a person has ended it, and its last process ended with 0 */
        *ret_stat = STAT_SIGNALED | SIGTERM;
    return true;
}

/* Right after the end sacct may have 128 + N where a signal N has ended the job, until the history
 * has the attempt. */
static int
settle_signal(const char *id, int *stat, char *diagnosis, size_t size)
{
    struct drmaa_words arguments = {};
    words_add(&arguments, "history");
    words_add(&arguments, "%s", id);
    words_add(&arguments, "--no-headers");
    words_add(&arguments, "-o");
    words_add(&arguments, "csv=signal");
    int code = DRMAA_ERRNO_SUCCESS;
    bool is_there = false;
    int exited = *stat;
    for (int tries = 0; tries < 50 && code == DRMAA_ERRNO_SUCCESS && !is_there; tries++) {
        struct program_result result;
        if (tries > 0)
            sleep_ms(100);
        code = program_run("kctl", &arguments, NULL, NULL, &result, diagnosis, size);
        if (code == DRMAA_ERRNO_SUCCESS && *result.output != '\0') {
            is_there = true;
            char *rest = result.output, *line;
            while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) /* the last attempt */
                *stat = atoi(line) > 0 ? STAT_SIGNALED | (atoi(line) & STAT_VALUE) : exited;
        }
        program_result_clear(&result);
    }
    words_clear(&arguments);
    return code;
}

static int
look_up(const char *id, int *ret_stat, struct drmaa_words *usage, char *diagnosis, size_t size)
{
    struct drmaa_words arguments = {};
    words_add(&arguments, "-n");
    words_add(&arguments, "-P");
    words_add(&arguments, "-o");
    words_add(&arguments, "JobID,State,ExitCode,Submit,Start,End,ElapsedRaw,TotalCPU,MaxRSS,"
                          "NodeList");
    words_add(&arguments, "-j");
    words_add(&arguments, "%s", id);
    struct program_result result;
    int code = program_run("sacct", &arguments, NULL, NULL, &result, diagnosis, size);
    if (code == DRMAA_ERRNO_SUCCESS && !read_outcome(id, result.output, ret_stat, usage)) {
        if (*result.errors != '\0')
            code = diagnose(diagnosis, size, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE, "%s",
                            result.errors);
        else
            *ret_stat = STAT_ABORTED;
    }
    if (code == DRMAA_ERRNO_SUCCESS && *ret_stat & STAT_EXITED && (*ret_stat & STAT_VALUE) > 128)
        code = settle_signal(id, ret_stat, diagnosis, size);
    program_result_clear(&result);
    words_clear(&arguments);
    return code;
}

DRMAA_EXPORT int
drmaa_wait(const char *job_id, char *job_id_out, size_t job_id_out_len, int *stat,
           signed long timeout, drmaa_attr_values_t **rusage, char *error_diagnosis,
           size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (job_id == NULL || timeout < -1)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    int64_t deadline = deadline_of(timeout);
    char *id = NULL;
    if (strcmp(job_id, DRMAA_JOB_IDS_SESSION_ANY) == 0) {
        code = take_any(deadline, &id, error_diagnosis, error_diag_len);
        if (code != DRMAA_ERRNO_SUCCESS)
            return code;
    } else {
        if (!state_is_id(job_id) || session_is_reaped(job_id))
            return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_JOB,
                            "there is no job '%s', or it was waited for already", job_id);
        code = wait_for_chunk(&job_id, 1, false, deadline, error_diagnosis, error_diag_len);
        if (code != DRMAA_ERRNO_SUCCESS)
            return code;
        if (!session_reap(job_id)) /* another thread was faster */
            return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_JOB, NULL);
        id = strdup(job_id);
    }
    drmaa_attr_values_t *usage = calloc(1, sizeof *usage);
    int status = STAT_ABORTED;
    if (id == NULL || usage == NULL)
        code = diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    else
        code = look_up(id, &status, &usage->words, error_diagnosis, error_diag_len);
    if (code == DRMAA_ERRNO_SUCCESS) {
        put_text(job_id_out, job_id_out_len, id);
        if (stat != NULL)
            *stat = status;
    }
    free(id);
    if (code == DRMAA_ERRNO_SUCCESS && rusage != NULL)
        *rusage = usage;
    else
        drmaa_release_attr_values(usage);
    return code;
}

static int
answer(int *ret, int value, char *diagnosis, size_t size)
{
    if (ret == NULL)
        return diagnose(diagnosis, size, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    *ret = value;
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_wifexited(int *exited, int stat, char *error_diagnosis, size_t error_diag_len)
{
    return answer(exited, (stat & STAT_EXITED) != 0, error_diagnosis, error_diag_len);
}

DRMAA_EXPORT int
drmaa_wexitstatus(int *exit_status, int stat, char *error_diagnosis, size_t error_diag_len)
{
    return answer(exit_status, stat & STAT_EXITED ? stat & STAT_VALUE : 0, error_diagnosis,
                  error_diag_len);
}

DRMAA_EXPORT int
drmaa_wifsignaled(int *signaled, int stat, char *error_diagnosis, size_t error_diag_len)
{
    return answer(signaled, (stat & STAT_SIGNALED) != 0, error_diagnosis, error_diag_len);
}

DRMAA_EXPORT int
drmaa_wtermsig(char *signal, size_t signal_len, int stat, char *error_diagnosis,
               size_t error_diag_len)
{
    if (signal == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    char text[DRMAA_SIGNAL_BUFFER] = "";
    int number = stat & STAT_SIGNALED ? stat & STAT_VALUE : 0;
    const char *name = number > 0 ? sigabbrev_np(number) : NULL;
    if (name != NULL)
        snprintf(text, sizeof text, "SIG%s", name);
    else if (number > 0)
        snprintf(text, sizeof text, "%d", number);
    put_text(signal, signal_len, text);
    return DRMAA_ERRNO_SUCCESS;
}

/* Kiln does not record whether there is one. */
DRMAA_EXPORT int
drmaa_wcoredump(int *core_dumped, int stat, char *error_diagnosis, size_t error_diag_len)
{
    (void)stat;
    return answer(core_dumped, 0, error_diagnosis, error_diag_len);
}

DRMAA_EXPORT int
drmaa_wifaborted(int *aborted, int stat, char *error_diagnosis, size_t error_diag_len)
{
    return answer(aborted, (stat & STAT_ABORTED) != 0, error_diagnosis, error_diag_len);
}
