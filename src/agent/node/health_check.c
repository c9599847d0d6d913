/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/health_check.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timed_program.h"
#include "lib/loop/timer.h"

struct health_check {
    struct health_check_settings s;
    struct timer *timer;
    struct timed_program *run; /* NULL: none is under way */
    bool is_known;
    char *failure;
};

static void
set_result(struct health_check *c, const char *failure)
{
    char *former = c->failure;
    const bool is_news = !c->is_known || (failure == NULL) != (former == NULL)
                         || (failure != NULL && strcmp(failure, former) != 0);

    if (!is_news) /* keep the former text: others borrow it */
        return;
    if (failure != NULL)
        log_warning("the health check '%s' has failed: %s", c->s.program, failure);
    else if (former != NULL)
        log_info("the health check '%s' succeeds again", c->s.program);
    c->is_known = true;
    c->failure = failure != NULL ? xstrdup(failure) : NULL;
    c->s.changed(c->s.context);
    free(former);
}

static void
on_done(const char *failure, void *context)
{
    struct health_check *c = context;

    set_result(c, failure);
    timed_program_free(c->run);
    c->run = NULL;
    timer_start(c->timer, c->s.interval_ms);
}

static void
begin_run(void *context)
{
    struct health_check *c = context;
    char *program = xstrdup(c->s.program);
    char *const argv[] = {program, NULL};
    struct error err = {0};

    if (timed_program_start(c->s.loop,
                            &(struct timed_program_plan){
                                .path = c->s.program,
                                .argv = argv,
                                .limit_ms = c->s.limit_ms,
                            },
                            on_done, c, &c->run, &err)
        < 0) {
        c->run = NULL;
        set_result(c, err.text);
        timer_start(c->timer, c->s.interval_ms);
    }
    free(program);
}

bool
health_check_get(const struct health_check *c, const char **ret_failure)
{
    *ret_failure = c->failure;
    return c->is_known;
}

void
health_check_start(struct health_check *c)
{
    begin_run(c);
}

struct health_check *
health_check_new(const struct health_check_settings *settings)
{
    struct health_check *c = xnew(struct health_check);

    c->s = *settings;
    c->timer = timer_new(settings->loop, begin_run, c);
    return c;
}

void
health_check_free(struct health_check *c)
{
    if (c == NULL)
        return;
    timed_program_free(c->run);
    timer_free(c->timer);
    free(c->failure);
    free(c);
}
