/* SPDX-License-Identifier: Apache-2.0 */
/* A reload is all or nothing: the file is read and checked on a worker, and only a
 * configuration without a mistake changes anything. Each setting that cannot change in a
 * running process is named in the log, because an administrator who changed it believes
 * otherwise.
 */
#include "controller/reload.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/scheduler/state/topology_levels.h"
#include "controller/serving_keys.h"
#include "controller/settings.h"
#include "controller/site_policy.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/workers.h"
#include "lib/program/readiness.h"

struct reload {
    struct reload_settings s;
    bool is_under_way;
    bool is_wanted; /* again, after this one */
    bool has_stopped;

    /* The worker uses these while a reload is under way. */
    struct controller_settings fresh;
    struct policy policy;
    struct fresh_certificate *certificate; /* or NULL */
    struct strbuf mistakes;
};

static void
read_again(void *arg)
{
    struct reload *r = arg;
    struct error err = {0};

    if (controller_settings_read_again(r->s.started_with, &r->fresh, &r->mistakes) < 0)
        return;
    if (site_policy_read(&r->fresh, &r->policy, &err) < 0)
        strbuf_printf(&r->mistakes, "%s\n", err.text);
    if (serving_keys_read_again(*r->s.serving_keys, &r->certificate, &err) < 0)
        strbuf_printf(&r->mistakes,
                      "the TLS certificate: %s; the former certificate stays in use\n", err.text);
}

static void
log_mistakes(const struct reload *r)
{
    const char *line = r->mistakes.text;

    for (; *line != '\0'; line += strcspn(line, "\n") + 1)
        log_error("reloading: %.*s", (int)strcspn(line, "\n"), line);
    log_error("reloading changed nothing: fix the configuration and send "
              "SIGHUP again");
    readiness_status("a reload failed: see the log");
}

static void
apply(struct reload *r)
{
    struct policy before = *r->s.policy;
    size_t waiting;

    /* The job controller has it from the start: both must use the same. */
    r->policy.limits.maximum_requeues = before.limits.maximum_requeues;
    policy_replace(r->s.policy, &r->policy);
    r->policy = before;
    log_set_level((enum log_level)r->fresh.log_level);
    topology_levels_set(r->s.topology, r->fresh.topology_levels.items,
                        (unsigned)r->fresh.topology_levels.count);
    topology_levels_set_wait(r->s.topology, r->fresh.switch_wait_us);
    if (serving_keys_take(*r->s.serving_keys, r->certificate))
        log_info("The TLS certificate has changed: new connections use the new one");
    waiting = controller_settings_log_unloaded(r->s.started_with, &r->fresh);
    log_info("The configuration was reloaded%s",
             waiting > 0 ? "; some settings take effect after a restart" : "");
    readiness_status("the configuration was reloaded%s",
                     waiting > 0 ? "; some settings take effect after a "
                                   "restart"
                                 : "");
}

static void
clear(struct reload *r)
{
    fresh_certificate_free(r->certificate);
    r->certificate = NULL;
    site_policy_fini(&r->policy);
    memset(&r->policy, 0, sizeof(r->policy));
    controller_settings_fini(&r->fresh);
    memset(&r->fresh, 0, sizeof(r->fresh));
    strbuf_truncate(&r->mistakes, 0);
}

static void
finish(void *arg)
{
    struct reload *r = arg;

    if (r->mistakes.length > 0)
        log_mistakes(r);
    else
        apply(r);
    clear(r);
    r->is_under_way = false;
    if (!r->has_stopped)
        readiness_ready();
    if (r->is_wanted && !r->has_stopped)
        reload_start(r);
}

void
reload_start(struct reload *r)
{
    r->is_wanted = r->is_under_way;
    if (r->is_under_way)
        return;
    r->is_under_way = true;
    readiness_reloading();
    workers_submit(r->s.workers, r->s.loop, read_again, finish, r);
}

void
reload_stop(struct reload *r)
{
    r->has_stopped = true;
}

struct reload *
reload_new(const struct reload_settings *settings)
{
    struct reload *r = xnew(struct reload);

    r->s = *settings;
    strbuf_init(&r->mistakes);
    return r;
}

void
reload_free(struct reload *r)
{
    if (r == NULL)
        return;
    strbuf_fini(&r->mistakes);
    free(r);
}
