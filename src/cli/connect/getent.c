/* SPDX-License-Identifier: Apache-2.0 */
/* ksub is linked statically where that is possible, because a command that starts for each job
 * pays more for loading libraries than for its work. The C library's look-ups would load them
 * all the same, of another version perhaps. So the files are read here, and getent(1) is asked
 * about what they do not have.
 */
#include "cli/connect/getent.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define MOST_BYTES 65536 /* of getent's output */
#define BLANKS     " \t\r\n"

const struct getent_files getent_system_files = {
    .users = "/etc/passwd",
    .hosts = "/etc/hosts",
};

/* ---- getent ---- */

static int
start_getent(char **arguments, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    r = posix_spawnp(ret_pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* 0 when getent found the name, -ENOENT when it did not. */
static int
end_getent(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? -ENOENT : -EIO;
}

static int
ask_getent(const char *database, const char *name, struct strbuf *answer)
{
    CLEANUP_FREE char *its_database = xstrdup(database);
    CLEANUP_FREE char *its_name = xstrdup(name);
    char program[] = "getent", no_more_options[] = "--";
    char *arguments[] = {program, no_more_options, its_database, its_name, NULL};
    int ends[2], r, ended;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    r = start_getent(arguments, ends[1], &pid);
    close(ends[1]);
    if (r == 0) {
        r = fd_read_all(ends[0], MOST_BYTES, answer);
        ended = end_getent(pid);
        r = ended < 0 ? ended : r;
    }
    close(ends[0]);
    return r;
}

/* ---- Users ---- */

static bool
is_in_file(const char *path, const char *name, uid_t *ret_uid)
{
    FILE *file = fopen(path, "re");
    const struct passwd *entry;
    bool is_found = false;

    if (file == NULL)
        return false;
    while (!is_found && (entry = fgetpwent(file)) != NULL) {
        is_found = strcmp(entry->pw_name, name) == 0;
        if (is_found)
            *ret_uid = entry->pw_uid;
    }
    fclose(file);
    return is_found;
}

/* Reads the uid of "name:password:uid:...". */
static int
read_uid(const char *line, uid_t *ret_uid)
{
    const char *colon = strchr(line, ':');
    unsigned long uid;
    char *end;

    colon = colon != NULL ? strchr(colon + 1, ':') : NULL;
    if (colon == NULL || colon[1] < '0' || colon[1] > '9')
        return -EBADMSG;
    errno = 0;
    uid = strtoul(colon + 1, &end, 10);
    if (*end != ':' || errno != 0 || uid > UINT32_MAX)
        return -EBADMSG;
    *ret_uid = (uid_t)uid;
    return 0;
}

int
getent_find_user(const struct getent_files *files, const char *name, uid_t *ret_uid)
{
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    int r;

    if (is_in_file(files->users, name, ret_uid))
        return 0;
    r = ask_getent("passwd", name, &answer);
    return r < 0 ? r : read_uid(answer.text, ret_uid);
}

/* ---- Hosts ---- */

/* Whether a line of hosts(5), without its address, contains the name. */
static bool
has_name(char *names, const char *host)
{
    char *rest = NULL;

    for (const char *name = strtok_r(names, BLANKS, &rest); name != NULL;
         name = strtok_r(NULL, BLANKS, &rest))
        if (strcasecmp(name, host) == 0)
            return true;
    return false;
}

static void
add_from_file(const char *path, const char *host, struct http_endpoints *places)
{
    FILE *file = fopen(path, "re");
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;

    if (file == NULL)
        return;
    while (getline(&line, &size, file) >= 0) {
        char *rest = NULL;
        const char *address;

        line[strcspn(line, "#")] = '\0';
        address = strtok_r(line, BLANKS, &rest);
        if (address != NULL && has_name(rest, host))
            (void)http_endpoints_add(places, address);
    }
    fclose(file);
}

/* Reads lines like "10.1.2.3        STREAM head", one for each socket type. */
static void
add_from_answer(char *answer, struct http_endpoints *places)
{
    char *rest = NULL;

    for (char *line = strtok_r(answer, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *words = NULL;
        const char *address = strtok_r(line, BLANKS, &words);
        const char *type = strtok_r(NULL, BLANKS, &words);

        if (address != NULL && type != NULL && strcmp(type, "STREAM") == 0)
            (void)http_endpoints_add(places, address);
    }
}

int
getent_find_host(const struct getent_files *files, const char *host, struct http_endpoints *places,
                 struct error *err)
{
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    size_t before = places->count;
    int r;

    add_from_file(files->hosts, host, places);
    if (places->count > before)
        return 0;
    r = ask_getent("ahosts", host, &answer);
    if (r == 0)
        add_from_answer(answer.text, places);
    if (places->count > before)
        return 0;
    if (r < 0 && r != -ENOENT)
        return error_set(err, -EHOSTUNREACH, "host '%s': not in %s, and getent cannot be run: %s",
                         host, files->hosts, strerror(-r));
    return error_set(err, -EHOSTUNREACH, "unknown host '%s'", host);
}
