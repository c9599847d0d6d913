/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/leftovers.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/volumes/removal.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

#define PREFIXES_LIMIT 65536u

/* ---- Directories in /run ---- */

/* Whether a job still runs whose directory in /run is a leftover. A directory
 * in /run is used as long as it has a record, which is written first and
 * removed before the directory, and the pod has a directory below STATE.
 *
 * If a job runs although its directory below STATE was removed, that is made
 * again, so that the job is followed.
 */
static bool
keep_running(const struct agent_context *agent, const char *uid, const char *state)
{
    struct live_record *live = pod_host_read_live(agent, uid);
    CLEANUP_FD int pidfd = live != NULL ? pod_host_open_shepherd(agent, uid, live) : -1;
    struct error err = {0};

    live_record_free(live);
    if (pidfd < 0)
        return false;
    if (dir_make(state, 0711, &err) < 0)
        log_warning("pod '%s' runs, but cannot be supervised: %s", uid, err.text);
    return true;
}

static void
collect_runs(const struct agent_context *agent)
{
    CLEANUP_FREE char *path = xasprintf("%s/pods", agent->run_dir);
    DIR *dir = opendir(path);

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        CLEANUP_FREE char *state = xasprintf("%s/pods/%s", agent->state_dir, e->d_name);
        CLEANUP_FREE char *record = xasprintf("%s/%s/pod", path, e->d_name);

        if (e->d_name[0] == '.' || (access(state, F_OK) == 0 && access(record, F_OK) == 0)
            || keep_running(agent, e->d_name, state))
            continue;
        (void)removal_run(dirfd(dir), e->d_name);
    }
    closedir(dir);
}

/* ---- Cgroups ---- */

struct leftover_collection {
    const struct agent_context *agent;
    struct map *used;     /* names in records of pods */
    struct strbuf former; /* prefixes of earlier agents, one per line */
    struct strbuf kept;   /* prefixes that are still in use */
    char **names;         /* to be removed */
    size_t n_names, capacity;
};

static void
note_used(struct leftover_collection *c)
{
    CLEANUP_FREE char *path = xasprintf("%s/pods", c->agent->run_dir);
    DIR *dir = opendir(path);

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        CLEANUP_FREE char *file = xasprintf("%s/%s/cgroup", path, e->d_name);
        CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;

        if (e->d_name[0] != '.' && file_read(file, 4096, &name, NULL) == 0)
            map_put(c->used, name.text, c);
    }
    closedir(dir);
}

/* The line in a list of prefixes that matches the name, or NULL. */
static const char *
find_prefix(const struct strbuf *list, const char *name)
{
    for (const char *at = list->text; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, "\n");

        if (length > 0 && strncmp(name, at, length) == 0)
            return at;
        at += length + (at[length] == '\n');
    }
    return NULL;
}

static void
keep_prefix(struct leftover_collection *c, const char *name)
{
    const char *line = find_prefix(&c->former, name);

    if (find_prefix(&c->kept, name) == NULL)
        strbuf_printf(&c->kept, "%.*s\n", (int)strcspn(line, "\n"), line);
}

static int
note_name(const char *name, void *context)
{
    struct leftover_collection *c = context;

    if (find_prefix(&c->former, name) == NULL)
        return 0;
    if (map_find(c->used, name) != NULL) {
        keep_prefix(c, name);
        return 0;
    }
    xgrow(c->names, c->n_names, c->capacity);
    c->names[c->n_names++] = xstrdup(name);
    return 0;
}

static void
remove_named(struct leftover_collection *c)
{
    for (size_t i = 0; i < c->n_names; i++) {
        struct cgroup *cgroup = NULL;

        if (cgroot_find(c->agent->cgroups, c->names[i], &cgroup, NULL) == 0) {
            if (cgroup_remove(cgroup, NULL) < 0)
                keep_prefix(c, c->names[i]);
            cgroup_free(cgroup);
        }
        free(c->names[i]);
    }
    free(c->names);
}

static void
collect_cgroups(const struct agent_context *agent, const char *prefix)
{
    CLEANUP_FREE char *path = xasprintf("%s/cgroup-prefixes", agent->run_dir);
    struct leftover_collection c = {
        .agent = agent,
        .used = map_new(),
        .former = STRBUF_INIT,
        .kept = STRBUF_INIT,
    };
    struct error err = {0};

    (void)file_read(path, PREFIXES_LIMIT, &c.former, NULL);
    note_used(&c);
    (void)cgroot_list(agent->cgroups, note_name, &c);
    remove_named(&c);
    strbuf_printf(&c.kept, "%s\n", prefix);
    if (file_write_atomic(path, 0600, c.kept.text, c.kept.length, &err) < 0)
        log_warning("%s; cgroups will be left behind when this agent is killed", err.text);
    strbuf_fini(&c.former);
    strbuf_fini(&c.kept);
    map_free(c.used);
}

void
leftovers_collect(const struct agent_context *agent, const char *prefix)
{
    collect_runs(agent);
    if (agent->cgroups != NULL)
        collect_cgroups(agent, prefix);
}
