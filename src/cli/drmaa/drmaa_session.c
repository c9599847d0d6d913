/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/drmaa/drmaa_session.h"
#include "cli/drmaa/drmaa.h"
#include "cli/drmaa/drmaa_program.h"
#include "cli/drmaa/drmaa_words.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct session_job {
    const char *id; /* text, except of a key */
    bool is_reaped;
    char text[];
};

static struct {
    pthread_mutex_t lock;
    bool is_active;
    char *server; /* or NULL */
    void *jobs;   /* a tree of struct session_job */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int
compare_jobs(const void *a, const void *b)
{
    return strcmp(((const struct session_job *)a)->id, ((const struct session_job *)b)->id);
}

/* With the lock. NULL without memory. */
static struct session_job *
find_or_add(const char *id)
{
    struct session_job **at = tfind(&(struct session_job){.id = id}, &session.jobs, compare_jobs);
    if (at != NULL)
        return *at;
    size_t size = strlen(id) + 1;
    struct session_job *job = calloc(1, sizeof *job + size);
    if (job == NULL)
        return NULL;
    memcpy(job->text, id, size);
    job->id = job->text;
    if (tsearch(job, &session.jobs, compare_jobs) == NULL) {
        free(job);
        return NULL;
    }
    return job;
}

int
session_check(char *diagnosis, size_t size)
{
    pthread_mutex_lock(&session.lock);
    bool is_active = session.is_active;
    pthread_mutex_unlock(&session.lock);
    return is_active ? DRMAA_ERRNO_SUCCESS
                     : diagnose(diagnosis, size, DRMAA_ERRNO_NO_ACTIVE_SESSION, NULL);
}

char *
session_server(void)
{
    pthread_mutex_lock(&session.lock);
    char *server = session.server != NULL ? strdup(session.server) : NULL;
    pthread_mutex_unlock(&session.lock);
    return server;
}

void
session_add(const char *id)
{
    pthread_mutex_lock(&session.lock);
    if (session.is_active)
        find_or_add(id);
    pthread_mutex_unlock(&session.lock);
}

static void
add_open_job(const void *node, VISIT visit, void *words)
{
    const struct session_job *job = *(struct session_job *const *)node;
    if ((visit == postorder || visit == leaf) && !job->is_reaped)
        words_add(words, "%s", job->id);
}

void
session_open_jobs(struct drmaa_words *ret_ids)
{
    pthread_mutex_lock(&session.lock);
    twalk_r(session.jobs, add_open_job, ret_ids);
    pthread_mutex_unlock(&session.lock);
}

bool
session_reap(const char *id)
{
    pthread_mutex_lock(&session.lock);
    struct session_job *job = find_or_add(id);
    bool is_first = job != NULL && !job->is_reaped;
    if (job != NULL)
        job->is_reaped = true;
    pthread_mutex_unlock(&session.lock);
    return is_first;
}

bool
session_is_reaped(const char *id)
{
    pthread_mutex_lock(&session.lock);
    struct session_job **at = tfind(&(struct session_job){.id = id}, &session.jobs, compare_jobs);
    bool is_reaped = at != NULL && (*at)->is_reaped;
    pthread_mutex_unlock(&session.lock);
    return is_reaped;
}

DRMAA_EXPORT int
drmaa_init(const char *contact, char *error_diagnosis, size_t error_diag_len)
{
    if (contact != NULL && *contact == '\0')
        contact = NULL;
    if (contact != NULL && strncmp(contact, "http://", 7) && strncmp(contact, "https://", 8)
        && strncmp(contact, "http+unix://", 12))
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_CONTACT_STRING,
                        "'%s' is not the URL of kiln-controller (such as http://head:6820)",
                        contact);
    int code = program_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    char *server = contact != NULL ? strdup(contact) : NULL;
    if (contact != NULL && server == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    pthread_mutex_lock(&session.lock);
    bool was_active = session.is_active;
    if (!was_active) {
        session.is_active = true;
        session.server = server;
    }
    pthread_mutex_unlock(&session.lock);
    if (!was_active)
        return DRMAA_ERRNO_SUCCESS;
    free(server);
    return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_ALREADY_ACTIVE_SESSION, NULL);
}

DRMAA_EXPORT int
drmaa_exit(char *error_diagnosis, size_t error_diag_len)
{
    pthread_mutex_lock(&session.lock);
    bool was_active = session.is_active;
    session.is_active = false;
    free(session.server);
    session.server = NULL;
    tdestroy(session.jobs, free);
    session.jobs = NULL;
    pthread_mutex_unlock(&session.lock);
    return was_active
               ? DRMAA_ERRNO_SUCCESS
               : diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_ACTIVE_SESSION, NULL);
}

DRMAA_EXPORT int
drmaa_get_contact(char *contact, size_t contact_len, char *error_diagnosis, size_t error_diag_len)
{
    (void)error_diagnosis;
    (void)error_diag_len;
    char *server = session_server();
    const char *set = getenv("KILN_SERVER");
    put_text(contact, contact_len, server != NULL ? server : set != NULL ? set : "");
    free(server);
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_version(unsigned int *major, unsigned int *minor, char *error_diagnosis,
              size_t error_diag_len)
{
    if (major == NULL || minor == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    *major = 1;
    *minor = 0;
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_get_DRM_system(char *drm_system, size_t drm_system_len, char *error_diagnosis,
                     size_t error_diag_len)
{
    (void)error_diagnosis;
    (void)error_diag_len;
    put_text(drm_system, drm_system_len, "Kiln " PACKAGE_VERSION);
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_get_DRMAA_implementation(char *drmaa_impl, size_t drmaa_impl_len, char *error_diagnosis,
                               size_t error_diag_len)
{
    (void)error_diagnosis;
    (void)error_diag_len;
    put_text(drmaa_impl, drmaa_impl_len, "Kiln DRMAA " PACKAGE_VERSION);
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT const char *
drmaa_strerror(int drmaa_errno)
{
    static const char *const TEXTS[DRMAA_NO_ERRNO] = {
        [DRMAA_ERRNO_SUCCESS] = "Success",
        [DRMAA_ERRNO_INTERNAL_ERROR] = "Internal error",
        [DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE] = "The controller cannot be reached",
        [DRMAA_ERRNO_AUTH_FAILURE] = "You may not do this",
        [DRMAA_ERRNO_INVALID_ARGUMENT] = "An argument is invalid",
        [DRMAA_ERRNO_NO_ACTIVE_SESSION] = "No session is active; drmaa_init() begins one",
        [DRMAA_ERRNO_NO_MEMORY] = "Out of memory",
        [DRMAA_ERRNO_INVALID_CONTACT_STRING] = "The contact is not the URL of a controller",
        [DRMAA_ERRNO_DEFAULT_CONTACT_STRING_ERROR] = "The default contact cannot be used",
        [DRMAA_ERRNO_NO_DEFAULT_CONTACT_STRING_SELECTED] = "There is no default contact",
        [DRMAA_ERRNO_DRMS_INIT_FAILED] = "Kiln's programs are not there",
        [DRMAA_ERRNO_ALREADY_ACTIVE_SESSION] = "A session is active already",
        [DRMAA_ERRNO_DRMS_EXIT_ERROR] = "The session could not be ended",
        [DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT] = "The format of an attribute is invalid",
        [DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE] = "The value of an attribute is invalid",
        [DRMAA_ERRNO_CONFLICTING_ATTRIBUTE_VALUES] = "Two attributes contradict each other",
        [DRMAA_ERRNO_TRY_LATER] = "Too much at once; try later",
        [DRMAA_ERRNO_DENIED_BY_DRM] = "Kiln has refused this",
        [DRMAA_ERRNO_INVALID_JOB] = "There is no such job, or it was waited for already",
        [DRMAA_ERRNO_RESUME_INCONSISTENT_STATE] = "The job is not suspended",
        [DRMAA_ERRNO_SUSPEND_INCONSISTENT_STATE] = "The job does not run",
        [DRMAA_ERRNO_HOLD_INCONSISTENT_STATE] = "The job does not wait, or is held already",
        [DRMAA_ERRNO_RELEASE_INCONSISTENT_STATE] = "The job is not held",
        [DRMAA_ERRNO_EXIT_TIMEOUT] = "The time was up before the end of the job",
        [DRMAA_ERRNO_NO_RUSAGE] = "It is not known what the job used",
        [DRMAA_ERRNO_NO_MORE_ELEMENTS] = "The list has no more elements",
    };
    return drmaa_errno >= 0 && drmaa_errno < DRMAA_NO_ERRNO ? TEXTS[drmaa_errno] : "Unknown error";
}
