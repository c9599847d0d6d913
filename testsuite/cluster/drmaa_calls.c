/* SPDX-License-Identifier: Apache-2.0 */
/* drmaa_calls.c - makes the calls of DRMAA 1.0, and prints what differs from the specification
 *
 * drmaa_calls: without a word on success; drmaa.t runs it as a user.
 */
#include "cli/drmaa/drmaa.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char why[DRMAA_ERROR_STRING_BUFFER];
static int failures;

#define WHY why, sizeof why

static void
expect_at(int line, const char *call, int got, int wanted)
{
    if (got == wanted)
        return;
    printf("line %d: %s is %d, not %d: %s\n", line, call, got, wanted, why);
    fflush(stdout);
    failures++;
}
#define EXPECT(CALL, WANTED) expect_at(__LINE__, #CALL, CALL, WANTED)
#define SUCCEEDS(CALL)       EXPECT(CALL, DRMAA_ERRNO_SUCCESS)

static drmaa_job_template_t *
template_of(const char *command, const char *argument)
{
    drmaa_job_template_t *jt = NULL;
    SUCCEEDS(drmaa_allocate_job_template(&jt, WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_REMOTE_COMMAND, command, WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, ":/dev/null", WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_NATIVE_SPECIFICATION, "-t 10 --comment 'a b'", WHY));
    const char *shell[] = {"-c", argument, NULL};
    SUCCEEDS(drmaa_set_vector_attribute(jt, DRMAA_V_ARGV,
                                        strcmp(command, "/bin/sh") == 0 ? shell : shell + 1, WHY));
    return jt;
}

static void
submit(const char *command, const char *argument, char id[DRMAA_JOBNAME_BUFFER])
{
    drmaa_job_template_t *jt = template_of(command, argument);
    SUCCEEDS(drmaa_run_job(id, DRMAA_JOBNAME_BUFFER, jt, WHY));
    SUCCEEDS(drmaa_delete_job_template(jt, WHY));
}

/* Waits for a state of the job: a busy machine needs its time. */
static void
reaches(const char *id, int wanted)
{
    int state = -1;
    for (int tries = 0; tries < 300; tries++) {
        if (drmaa_job_ps(id, &state, WHY) != DRMAA_ERRNO_SUCCESS)
            break;
        if (state == wanted)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    EXPECT(state, wanted);
}

static void
ends_with(const char *id, int exited, int code, int signaled, int aborted)
{
    char out[DRMAA_JOBNAME_BUFFER] = "";
    int stat = 0, value = -1;
    drmaa_attr_values_t *usage = NULL;
    SUCCEEDS(drmaa_wait(id, out, sizeof out, &stat, 120, &usage, WHY));
    EXPECT(strcmp(out, id), 0);
    SUCCEEDS(drmaa_wifexited(&value, stat, WHY));
    EXPECT(value, exited);
    SUCCEEDS(drmaa_wexitstatus(&value, stat, WHY));
    EXPECT(value, code);
    SUCCEEDS(drmaa_wifsignaled(&value, stat, WHY));
    EXPECT(value, signaled);
    SUCCEEDS(drmaa_wifaborted(&value, stat, WHY));
    EXPECT(value, aborted);
    SUCCEEDS(drmaa_wcoredump(&value, stat, WHY));
    EXPECT(value, 0);
    if (signaled) {
        char name[DRMAA_SIGNAL_BUFFER];
        SUCCEEDS(drmaa_wtermsig(name, sizeof name, stat, WHY));
        EXPECT(strncmp(name, "SIG", 3), 0);
    }
    if (exited) {
        char text[DRMAA_ATTR_BUFFER];
        int has_cpu = 0;
        while (drmaa_get_next_attr_value(usage, text, sizeof text) == DRMAA_ERRNO_SUCCESS)
            has_cpu |= strncmp(text, "cpu=", 4) == 0;
        EXPECT(has_cpu, 1);
    }
    drmaa_release_attr_values(usage);
    EXPECT(drmaa_wait(id, out, sizeof out, &stat, 0, NULL, WHY), DRMAA_ERRNO_INVALID_JOB);
}

static void
check_session(void)
{
    char text[1024];
    unsigned major = 0, minor = 9;
    drmaa_job_template_t *jt;
    EXPECT(drmaa_exit(WHY), DRMAA_ERRNO_NO_ACTIVE_SESSION);
    EXPECT(drmaa_allocate_job_template(&jt, WHY), DRMAA_ERRNO_NO_ACTIVE_SESSION);
    EXPECT(drmaa_init("elsewhere", WHY), DRMAA_ERRNO_INVALID_CONTACT_STRING);
    SUCCEEDS(drmaa_init(NULL, WHY));
    EXPECT(drmaa_init(NULL, WHY), DRMAA_ERRNO_ALREADY_ACTIVE_SESSION);
    SUCCEEDS(drmaa_version(&major, &minor, WHY));
    EXPECT((int)(major * 10 + minor), 10);
    SUCCEEDS(drmaa_get_DRM_system(text, sizeof text, WHY));
    EXPECT(strncmp(text, "Kiln", 4), 0);
    SUCCEEDS(drmaa_get_DRMAA_implementation(text, sizeof text, WHY));
    for (int code = 0; code < DRMAA_NO_ERRNO; code++)
        EXPECT(*drmaa_strerror(code) != '\0', 1);
}

static void
check_templates(void)
{
    drmaa_job_template_t *jt = template_of("/bin/true", NULL);
    char text[DRMAA_ATTR_BUFFER];
    SUCCEEDS(drmaa_get_attribute(jt, DRMAA_REMOTE_COMMAND, text, sizeof text, WHY));
    EXPECT(strcmp(text, "/bin/true"), 0);
    SUCCEEDS(drmaa_get_attribute(jt, DRMAA_REMOTE_COMMAND, text, 5, WHY));
    EXPECT(strcmp(text, "/bin"), 0);
    EXPECT(drmaa_get_attribute(jt, DRMAA_WD, text, sizeof text, WHY),
           DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
    static const struct {
        const char *name, *value;
        int code;
    } CASES[] = {
        {"drmaa_colour", "red", DRMAA_ERRNO_INVALID_ARGUMENT},
        {DRMAA_TRANSFER_FILES, "ioe", DRMAA_ERRNO_INVALID_ARGUMENT},
        {DRMAA_JS_STATE, "sleeping", DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE},
        {DRMAA_JS_STATE, DRMAA_SUBMISSION_STATE_ACTIVE, 0},
        {DRMAA_JOIN_FILES, "maybe", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT},
        {DRMAA_BLOCK_EMAIL, "2", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT},
        {DRMAA_OUTPUT_PATH, "/no/colon", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT},
        {DRMAA_START_TIME, "25:00", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT},
        {DRMAA_START_TIME, "2026/02/30 10:00", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT},
        {DRMAA_START_TIME, "10:00", 0},
        {DRMAA_START_TIME, "31 10:00:30 +01:00", 0},
        {DRMAA_START_TIME, "02/29 10:00", 0},
        {DRMAA_START_TIME, "99/02/28 10:00", 0},
        {DRMAA_START_TIME, "2020/02/29 10:00 -08:00", 0},
        {DRMAA_WCT_HLIMIT, "1:2:3:4", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT},
        {DRMAA_WCT_HLIMIT, "0", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT},
        {DRMAA_WCT_HLIMIT, "1:00:00", 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int got = drmaa_set_attribute(jt, CASES[i].name, CASES[i].value, WHY);
        if (got != CASES[i].code)
            printf("%s='%s':\n", CASES[i].name, CASES[i].value);
        EXPECT(got, CASES[i].code);
    }
    const char *broken[] = {"NAME", NULL};
    EXPECT(drmaa_set_vector_attribute(jt, DRMAA_V_ENV, broken, WHY),
           DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT);
    drmaa_attr_values_t *values = NULL;
    const char *mails[] = {"a@example.org", "b@example.org", NULL};
    SUCCEEDS(drmaa_set_vector_attribute(jt, DRMAA_V_EMAIL, mails, WHY));
    SUCCEEDS(drmaa_get_vector_attribute(jt, DRMAA_V_EMAIL, &values, WHY));
    size_t count = 0;
    SUCCEEDS(drmaa_get_num_attr_values(values, &count));
    EXPECT((int)count, 2);
    SUCCEEDS(drmaa_get_next_attr_value(values, text, sizeof text));
    SUCCEEDS(drmaa_get_next_attr_value(values, text, sizeof text));
    EXPECT(strcmp(text, "b@example.org"), 0);
    EXPECT(drmaa_get_next_attr_value(values, text, sizeof text), DRMAA_ERRNO_NO_MORE_ELEMENTS);
    drmaa_release_attr_values(values);
    SUCCEEDS(drmaa_delete_job_template(jt, WHY));

    drmaa_attr_names_t *names = NULL;
    SUCCEEDS(drmaa_get_attribute_names(&names, WHY));
    SUCCEEDS(drmaa_get_next_attr_name(names, text, sizeof text));
    EXPECT(strcmp(text, DRMAA_REMOTE_COMMAND), 0);
    drmaa_release_attr_names(names);
    SUCCEEDS(drmaa_get_vector_attribute_names(&names, WHY));
    SUCCEEDS(drmaa_get_num_attr_names(names, &count));
    EXPECT((int)count, 3);
    drmaa_release_attr_names(names);
}

/* Paths, environment and arguments, which only the job can judge. */
static void
check_surroundings(void)
{
    char id[DRMAA_JOBNAME_BUFFER] = "", line[256] = "", error[256] = "";
    drmaa_job_template_t *jt = template_of("/bin/sh", "echo \"$WORD|$(pwd)|$1\"; echo wrong >&2");
    const char *arguments[] = {"-c", "echo \"$WORD|$(pwd)|$1\"; echo wrong >&2", "sh",
                               "it's \"$x\"", NULL};
    const char *environment[] = {"WORD=a b=c", NULL};
    SUCCEEDS(drmaa_set_vector_attribute(jt, DRMAA_V_ARGV, arguments, WHY));
    SUCCEEDS(drmaa_set_vector_attribute(jt, DRMAA_V_ENV, environment, WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_WD, DRMAA_PLACEHOLDER_HD "/work", WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_JOB_NAME, "named", WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, ":" DRMAA_PLACEHOLDER_WD "/100%j", WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_ERROR_PATH, ":" DRMAA_PLACEHOLDER_HD "/errors", WHY));
    SUCCEEDS(drmaa_run_job(id, sizeof id, jt, WHY));
    ends_with(id, 1, 0, 0, 0);
    FILE *file = fopen("work/100%j", "r");
    EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL, 1);
    EXPECT(strncmp(line, "a b=c|/", 7), 0);
    EXPECT(strstr(line, "/work|it's \"$x\"\n") != NULL, 1);
    if (file != NULL)
        fclose(file);
    file = fopen("errors", "r");
    EXPECT(file != NULL && fgets(error, sizeof error, file) != NULL, 1);
    EXPECT(strcmp(error, "wrong\n"), 0);
    if (file != NULL)
        fclose(file);

    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, "elsewhere:/tmp/x", WHY));
    EXPECT(drmaa_run_job(id, sizeof id, jt, WHY), DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, ":x" DRMAA_PLACEHOLDER_INCR, WHY));
    EXPECT(drmaa_run_job(id, sizeof id, jt, WHY), DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, ":/dev/null", WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_NATIVE_SPECIFICATION, "--colour=red", WHY));
    EXPECT(drmaa_run_job(id, sizeof id, jt, WHY), DRMAA_ERRNO_DENIED_BY_DRM);
    EXPECT(strstr(why, "--colour") != NULL, 1);
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_NATIVE_SPECIFICATION, "--comment='a", WHY));
    EXPECT(drmaa_run_job(id, sizeof id, jt, WHY), DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_NATIVE_SPECIFICATION, "--test-only", WHY));
    EXPECT(drmaa_run_job(id, sizeof id, jt, WHY), DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE);
    SUCCEEDS(drmaa_delete_job_template(jt, WHY));
}

static void
check_ends(void)
{
    char id[DRMAA_JOBNAME_BUFFER] = "", second[DRMAA_JOBNAME_BUFFER] = "";
    submit("/bin/sh", "exit 7", id);
    ends_with(id, 1, 7, 0, 0);
    reaches(id, DRMAA_PS_FAILED);
    submit("true", NULL, second);
    ends_with(second, 1, 0, 0, 0);
    reaches(second, DRMAA_PS_DONE);
    submit("/bin/sh", "kill -USR1 $$", id);
    ends_with(id, 0, 0, 1, 0);
    EXPECT(drmaa_job_ps("999999", &(int){0}, WHY), DRMAA_ERRNO_INVALID_JOB);
    EXPECT(drmaa_job_ps("--help", &(int){0}, WHY), DRMAA_ERRNO_INVALID_JOB);
    EXPECT(drmaa_wait("999999", NULL, 0, NULL, 0, NULL, WHY), DRMAA_ERRNO_INVALID_JOB);
}

static void
check_control(void)
{
    char id[DRMAA_JOBNAME_BUFFER] = "", out[DRMAA_JOBNAME_BUFFER];
    drmaa_job_template_t *jt = template_of("/bin/sleep", "1000");
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_JS_STATE, DRMAA_SUBMISSION_STATE_HOLD, WHY));
    SUCCEEDS(drmaa_run_job(id, sizeof id, jt, WHY));
    reaches(id, DRMAA_PS_USER_ON_HOLD);
    EXPECT(drmaa_control(id, DRMAA_CONTROL_HOLD, WHY), DRMAA_ERRNO_HOLD_INCONSISTENT_STATE);
    EXPECT(drmaa_control(id, DRMAA_CONTROL_SUSPEND, WHY), DRMAA_ERRNO_SUSPEND_INCONSISTENT_STATE);
    EXPECT(drmaa_control(id, DRMAA_CONTROL_RESUME, WHY), DRMAA_ERRNO_RESUME_INCONSISTENT_STATE);
    SUCCEEDS(drmaa_control(id, DRMAA_CONTROL_RELEASE, WHY));
    reaches(id, DRMAA_PS_RUNNING);
    EXPECT(drmaa_control(id, DRMAA_CONTROL_RELEASE, WHY), DRMAA_ERRNO_RELEASE_INCONSISTENT_STATE);
    EXPECT(drmaa_control(id, DRMAA_CONTROL_SUSPEND, WHY), DRMAA_ERRNO_AUTH_FAILURE);
    EXPECT(drmaa_wait(id, out, sizeof out, NULL, 0, NULL, WHY), DRMAA_ERRNO_EXIT_TIMEOUT);
    EXPECT(drmaa_wait(id, out, sizeof out, NULL, 1, NULL, WHY), DRMAA_ERRNO_EXIT_TIMEOUT);
    SUCCEEDS(drmaa_control(id, DRMAA_CONTROL_TERMINATE, WHY));
    ends_with(id, 0, 0, 1, 0);
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_START_TIME, "2099/01/01 00:00", WHY));
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_JS_STATE, DRMAA_SUBMISSION_STATE_ACTIVE, WHY));
    SUCCEEDS(drmaa_run_job(id, sizeof id, jt, WHY));
    reaches(id, DRMAA_PS_QUEUED_ACTIVE);
    SUCCEEDS(drmaa_control(id, DRMAA_CONTROL_HOLD, WHY));
    reaches(id, DRMAA_PS_USER_ON_HOLD);
    SUCCEEDS(drmaa_control(DRMAA_JOB_IDS_SESSION_ALL, DRMAA_CONTROL_TERMINATE, WHY));
    ends_with(id, 0, 0, 0, 1);
    SUCCEEDS(drmaa_delete_job_template(jt, WHY));
}

static void
check_bulk(void)
{
    char id[DRMAA_JOBNAME_BUFFER], line[32] = "";
    drmaa_job_ids_t *ids = NULL;
    drmaa_job_template_t *jt = template_of("/bin/sh", "echo $KILN_ARRAY_TASK_ID; exit "
                                                      "$KILN_ARRAY_TASK_ID");
    SUCCEEDS(drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH,
                                 ":" DRMAA_PLACEHOLDER_HD "/bulk." DRMAA_PLACEHOLDER_INCR, WHY));
    EXPECT(drmaa_run_bulk_jobs(&ids, jt, 0, 5, 1, WHY), DRMAA_ERRNO_INVALID_ARGUMENT);
    SUCCEEDS(drmaa_run_bulk_jobs(&ids, jt, 1, 5, 2, WHY));
    size_t count = 0;
    SUCCEEDS(drmaa_get_num_job_ids(ids, &count));
    EXPECT((int)count, 3);
    const char *all[] = {DRMAA_JOB_IDS_SESSION_ALL, NULL};
    SUCCEEDS(drmaa_synchronize(all, 120, 0, WHY));
    for (int task = 1; drmaa_get_next_job_id(ids, id, sizeof id) == DRMAA_ERRNO_SUCCESS; task += 2)
        ends_with(id, 1, task, 0, 0);
    EXPECT(drmaa_get_next_job_id(ids, id, sizeof id), DRMAA_ERRNO_NO_MORE_ELEMENTS);
    drmaa_release_job_ids(ids);
    FILE *file = fopen("bulk.5", "r");
    EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL && strcmp(line, "5\n") == 0, 1);
    if (file != NULL)
        fclose(file);
    SUCCEEDS(drmaa_delete_job_template(jt, WHY));
    EXPECT(drmaa_wait(DRMAA_JOB_IDS_SESSION_ANY, id, sizeof id, NULL, 1, NULL, WHY),
           DRMAA_ERRNO_INVALID_JOB);
}

/* Several threads submit, and each job is waited for once. */
static void *
submit_and_wait(void *sum)
{
    char id[DRMAA_JOBNAME_BUFFER] = "", out[DRMAA_JOBNAME_BUFFER], text[256];
    drmaa_job_template_t *jt = NULL;
    int code = drmaa_allocate_job_template(&jt, text, sizeof text);
    const char *arguments[] = {"-c", "exit 3", NULL};
    code |= drmaa_set_attribute(jt, DRMAA_REMOTE_COMMAND, "sh", text, sizeof text);
    code |= drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, ":/dev/null", text, sizeof text);
    code |= drmaa_set_vector_attribute(jt, DRMAA_V_ARGV, arguments, text, sizeof text);
    code |= drmaa_run_job(id, sizeof id, jt, text, sizeof text);
    code |= drmaa_delete_job_template(jt, text, sizeof text);
    int stat = 0, status = 0;
    code |=
        drmaa_wait(DRMAA_JOB_IDS_SESSION_ANY, out, sizeof out, &stat, 120, NULL, text, sizeof text);
    code |= drmaa_wexitstatus(&status, stat, NULL, 0);
    *(int *)sum = code == 0 ? status : -code;
    return NULL;
}

static void
check_threads(void)
{
    pthread_t threads[4];
    int sums[4] = {};
    signal(SIGCHLD, SIG_IGN); /* a host that reaps its children by itself */
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, submit_and_wait, &sums[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(sums[i], 3);
    }
    signal(SIGCHLD, SIG_DFL);
}

/* A later session, with the contact of the first, finds its jobs by their ids. */
static void
check_contact(void)
{
    char id[DRMAA_JOBNAME_BUFFER] = "", contact[DRMAA_CONTACT_BUFFER] = "";
    submit("/bin/sh", "exit 9", id);
    SUCCEEDS(drmaa_get_contact(contact, sizeof contact, WHY));
    SUCCEEDS(drmaa_exit(WHY));
    EXPECT(drmaa_job_ps(id, &(int){0}, WHY), DRMAA_ERRNO_NO_ACTIVE_SESSION);
    SUCCEEDS(drmaa_init("http+unix:///nowhere", WHY));
    EXPECT(drmaa_job_ps(id, &(int){0}, WHY), DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE);
    SUCCEEDS(drmaa_exit(WHY));
    SUCCEEDS(drmaa_init(contact, WHY));
    ends_with(id, 1, 9, 0, 0);
    SUCCEEDS(drmaa_exit(WHY));
}

int
main(void)
{
    check_session();
    if (failures > 0) /* nothing else can work */
        return 1;
    check_templates();
    check_surroundings();
    check_ends();
    check_control();
    check_bulk();
    check_threads();
    check_contact();
    return failures == 0 ? 0 : 1;
}
