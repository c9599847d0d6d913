/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/stray_processes.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define ENVIRONMENT_LIMIT (16u << 20)
#define STATUS_LIMIT      (1u << 20)

/* Whether the user started the process, also as a program that is set-uid. The
 * environments of others are not read: there may be many, and large ones.
 */
static bool
is_of_user(const char *pid, uid_t owner)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%s/status", pid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *line;

    if (owner == 0)
        return true;
    if (file_read(path, STATUS_LIMIT, &text, NULL) < 0 || text.length == 0)
        return false;
    line = strstr(text.text, "\nUid:");
    return line != NULL && strtoul(line + strlen("\nUid:"), NULL, 10) == owner;
}

/* Each entry ends with a NUL. The environment of another user's process cannot
 * be read; that of a dead process is empty.
 */
static bool
has_entry(const char *pid, const char *entry)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%s/environ", pid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(path, ENVIRONMENT_LIMIT, &text, NULL) < 0)
        return false;
    for (size_t at = 0; at < text.length; at += strlen(text.text + at) + 1)
        if (strcmp(text.text + at, entry) == 0)
            return true;
    return false;
}

unsigned
stray_processes_kill(const char *pod_uid, int64_t step, uid_t owner)
{
    CLEANUP_FREE char *of_step = xasprintf("KILN_STEP_ID=%lld", (long long)step);
    CLEANUP_FREE char *entry = xasprintf("KILN_POD_UID=%s", pod_uid);
    DIR *dir = opendir("/proc");
    unsigned killed = 0;

    if (dir == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t)atoi(e->d_name);

        if (!isdigit((unsigned char)e->d_name[0]) || pid == getpid()
            || !is_of_user(e->d_name, owner) || !has_entry(e->d_name, entry)
            || (step >= 0 && !has_entry(e->d_name, of_step)))
            continue;
        killed += kill(pid, SIGKILL) == 0;
    }
    closedir(dir);
    return killed;
}
