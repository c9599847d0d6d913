/* SPDX-License-Identifier: Apache-2.0 */
/* A library in somebody else's program must not bring a loop, threads, signal handlers or open
 * descriptors with it, so it runs Kiln's commands instead of linking the client. The host may
 * ignore SIGCHLD or reap children of others, and then the exit code is gone; what the command
 * has printed decides.
 */
#include "cli/drmaa/drmaa_program.h"
#include "cli/drmaa/drmaa.h"
#include "cli/drmaa/drmaa_session.h"
#include "cli/drmaa/drmaa_words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void
program_path(const char *name, char path[PATH_MAX])
{
    const char *folder = secure_getenv("KILN_DRMAA_BINDIR");
    bool is_slurm = strcmp(name, "squeue") == 0 || strcmp(name, "sacct") == 0;
    if (folder == NULL || *folder != '/')
        folder = is_slurm ? PKGLIBEXECDIR : BINDIR;
    snprintf(path, PATH_MAX, "%s/%s", folder, is_slurm ? "kiln-slurm" : name);
}

int
program_check(char *diagnosis, size_t size)
{
    static const char *const NAMES[] = {"ksub", "kctl", "squeue"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char path[PATH_MAX];
        program_path(NAMES[i], path);
        if (access(path, X_OK) < 0)
            return diagnose(diagnosis, size, DRMAA_ERRNO_DRMS_INIT_FAILED, "%s: %s", path,
                            strerror(errno));
    }
    return DRMAA_ERRNO_SUCCESS;
}

/* An anonymous file above the standard descriptors, which dup2() must not hit. */
static int
scratch_file(const char *content)
{
    int low = memfd_create("drmaa", MFD_CLOEXEC);
    if (low < 0)
        return -1;
    int file = fcntl(low, F_DUPFD_CLOEXEC, 3);
    close(low);
    for (size_t length = content != NULL ? strlen(content) : 0; file >= 0 && length > 0;) {
        ssize_t written = write(file, content, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            close(file);
            return -1;
        }
        content += written;
        length -= (size_t)written;
    }
    if (file >= 0)
        lseek(file, 0, SEEK_SET);
    return file;
}

static char *
file_text(int file)
{
    off_t length = lseek(file, 0, SEEK_END);
    char *text = malloc((size_t)(length > 0 ? length : 0) + 1);
    if (text == NULL)
        return NULL;
    ssize_t got = length > 0 ? pread(file, text, (size_t)length, 0) : 0;
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static bool
is_named_in(const struct drmaa_words *environment, const char *variable)
{
    size_t name = strcspn(variable, "=") + 1;
    for (size_t i = 0; environment != NULL && i < environment->count; i++)
        if (strncmp(environment->word[i], variable, name) == 0)
            return true;
    return false;
}

/* The user's variables for Slurm's commands must not change what they print for us. */
static bool
is_kept(const char *variable, bool is_slurm)
{
    return !is_slurm
           || (strncmp(variable, "SQUEUE_", 7) && strncmp(variable, "SACCT_", 6)
               && strncmp(variable, "SLURM_", 6));
}

static void
gather_environment(const char *name, const struct drmaa_words *extra, struct drmaa_words *all)
{
    bool is_slurm = strcmp(name, "squeue") == 0 || strcmp(name, "sacct") == 0;
    char *server = session_server();
    for (char **variable = environ; *variable != NULL; variable++) {
        if (is_named_in(extra, *variable) || !is_kept(*variable, is_slurm)
            || (server != NULL && strncmp(*variable, "KILN_SERVER=", 12) == 0))
            continue;
        words_add(all, "%s", *variable);
    }
    for (size_t i = 0; extra != NULL && i < extra->count; i++)
        words_add(all, "%s", extra->word[i]);
    if (server != NULL)
        words_add(all, "KILN_SERVER=%s", server);
    if (is_slurm)
        words_add(all, "SLURM_TIME_FORMAT=%%s");
    free(server);
}

static int
spawn_at(const char *path, char **argv, char **envp, const int files[3], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        for (int i = 0; i < 3 && r == 0; i++)
            r = posix_spawn_file_actions_adddup2(&actions, files[i], i);
#if defined __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 34)
        if (r == 0)
            r = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
#endif
        if (r == 0)
            r = posix_spawnattr_setsigmask(&attributes, &none);
        if (r == 0)
            r = posix_spawnattr_setsigdefault(&attributes, &all);
        if (r == 0)
            r = posix_spawnattr_setflags(&attributes,
                                         POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (r == 0)
            r = posix_spawn(pid, path, &actions, &attributes, argv, envp);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int
exit_code_of(pid_t pid)
{
    int status;
    pid_t r;
    do
        r = waitpid(pid, &status, 0);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
program_run(const char *name, const struct drmaa_words *arguments,
            const struct drmaa_words *environment, const char *input, struct program_result *result,
            char *diagnosis, size_t size)
{
    *result = (struct program_result){};
    char path[PATH_MAX];
    program_path(name, path);
    struct drmaa_words argv = {}, envp = {};
    words_add(&argv, "%s", name);
    for (size_t i = 0; i < arguments->count; i++)
        words_add(&argv, "%s", arguments->word[i]);
    gather_environment(name, environment, &envp);
    int files[3] = {scratch_file(input), scratch_file(NULL), scratch_file(NULL)};
    int code = DRMAA_ERRNO_SUCCESS;
    if (argv.is_out_of_memory || envp.is_out_of_memory || arguments->is_out_of_memory) {
        code = diagnose(diagnosis, size, DRMAA_ERRNO_NO_MEMORY, NULL);
    } else if (files[0] < 0 || files[1] < 0 || files[2] < 0) {
        code = diagnose(diagnosis, size, DRMAA_ERRNO_INTERNAL_ERROR, "no file for %s: %s", name,
                        strerror(errno));
    } else {
        pid_t pid;
        int r = spawn_at(path, argv.word, envp.word, files, &pid);
        if (r != 0)
            code = diagnose(diagnosis, size, DRMAA_ERRNO_INTERNAL_ERROR, "cannot run %s: %s", path,
                            strerror(r));
        else {
            result->exit_code = exit_code_of(pid);
            result->output = file_text(files[1]);
            result->errors = file_text(files[2]);
            if (result->output == NULL || result->errors == NULL)
                code = diagnose(diagnosis, size, DRMAA_ERRNO_NO_MEMORY, NULL);
            else if (*result->errors != '\0') {
                char *end = result->errors + strlen(result->errors) - 1;
                if (*end == '\n')
                    *end = '\0';
            }
        }
    }
    for (int i = 0; i < 3; i++)
        if (files[i] >= 0)
            close(files[i]);
    words_clear(&argv);
    words_clear(&envp);
    return code;
}

void
program_result_clear(struct program_result *result)
{
    free(result->output);
    free(result->errors);
    *result = (struct program_result){};
}

int
program_failure(const char *name, const struct program_result *result, char *diagnosis, size_t size)
{
    /* Of sysexits.h, as Kiln's programs use them. */
    int code = DRMAA_ERRNO_DENIED_BY_DRM;
    if (result->exit_code == 66)
        code = DRMAA_ERRNO_INVALID_JOB;
    else if (result->exit_code == 69)
        code = DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE;
    else if (result->exit_code == 75)
        code = DRMAA_ERRNO_TRY_LATER;
    else if (result->exit_code == 77)
        code = DRMAA_ERRNO_AUTH_FAILURE;
    if (*result->errors != '\0')
        return diagnose(diagnosis, size, code, "%s", result->errors);
    return diagnose(diagnosis, size, code, "%s failed (exit code %d)", name, result->exit_code);
}
