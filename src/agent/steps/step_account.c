/* SPDX-License-Identifier: Apache-2.0 */
/* step_account.c - what is recorded of a step: its beginning, its end, what it used
 *
 * The agent of the job's first node has the records (step_records.h). Kiln-step tells
 * in a file what happened to the tasks (step_figures.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "agent/steps/step_records.h"
#include "agent/steps/step_reporter.h"
#include "agent/steps/steps_state.h"
#include "lib/api/cluster/step_record.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/step/byte_text.h"
#include "lib/step/step_layout.h"

#define CODE_MOST 255
#define DOTS      "..."

#define OBSERVED_MOST 500 /* running steps in one report */

/* After the stop of the agent records are only written down. */
static void
note(const struct steps *s, bool is_end)
{
    if (s->reporter != NULL)
        step_reporter_note(s->reporter, is_end);
}

/* ---- Texts ---- */

/* Bytes of the UTF-8 character at the text. */
static unsigned
character_length(const char *text)
{
    const unsigned char c = (unsigned char)*text;

    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* A control character, or a byte that is none of UTF-8 (byte_text.h). */
static bool
is_unprintable(const char *text)
{
    const unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];

    return c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0)
           || (c == 0xf4 && next == 0x8f && (unsigned char)text[2] >= 0x9c);
}

/* Adds as much of the text as there is room for; false if that is not all. */
static bool
add_printable(struct strbuf *out, struct arena *arena, const char *text)
{
    for (text = byte_text_encode(arena, text); *text != '\0';) {
        const unsigned length = character_length(text);

        if (out->length + length > STEP_TEXT_MOST - strlen(DOTS)) {
            strbuf_add_text(out, DOTS);
            return false;
        }
        if (is_unprintable(text))
            strbuf_add_char(out, '?');
        else
            strbuf_add(out, text, length);
        text += length;
    }
    return true;
}

static const char *
base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void
step_account_take_request(struct agent_step *e, const struct step_request *r)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf command = STRBUF_INIT;
    const char *line = step_request_variable(r, STEP_SUBMIT_LINE);
    CLEANUP_STRBUF struct strbuf submit_line = STRBUF_INIT;
    const char *first = r->arguments.count > 0 ? r->arguments.items[0] : "";

    add_printable(&name, arena,
                  r->name != NULL && r->name[0] != '\0' ? r->name
                  : r->programs != NULL                 ? "multi-prog"
                                                        : base_of(first));
    if (r->programs != NULL)
        add_printable(&command, arena, "--multi-prog ");
    for (uint32_t i = 0; i < r->arguments.count; i++)
        if ((i > 0 && !add_printable(&command, arena, " "))
            || !add_printable(&command, arena, r->arguments.items[i]))
            break;
    e->name = arena_strdup(e->arena, name.text);
    e->command = arena_strdup(e->arena, command.text);
    if (line != NULL)
        add_printable(&submit_line, arena, line);
    e->submit_line = arena_strdup(e->arena, submit_line.text);
    e->time_limit_s = r->time_limit_s;
}

/* ---- The beginning ---- */

static int64_t
count_cpus(const struct step_layout *layout)
{
    int64_t n = 0;

    for (unsigned i = 0; i < layout->n_nodes; i++)
        n += bitset_count(&layout->nodes[i].cpus);
    return n;
}

void
step_account_begin(const struct agent_step *e, const struct running_pod *running,
                   const struct step_layout *layout)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;
    const struct steps *s = e->job->steps;
    const struct meta *meta = running->pod->meta;
    const int64_t now_us = clock_real_us(s->s.agent->clock);

    step_layout_format_nodes(layout, &list);
    add_printable(&nodes, arena, list.text);
    step_records_begin(s->records,
                       &(struct step_records_pod){meta->namespace, meta->name, meta->uid},
                       &(struct step_record){
                           .id = e->id,
                           .name = e->name,
                           .command = e->command,
                           .nodes = nodes.text,
                           .node_count = layout->n_nodes,
                           .tasks = layout->n_tasks,
                           .cpus = count_cpus(layout),
                           .start_at_us = now_us,
                           .observed_at_us = now_us,
                           .time_limit_s = e->time_limit_s,
                           .distribution = e->request.distribution,
                           .host = e->krun_pid > 0 ? s->s.agent->node : NULL,
                           .host_pid = e->krun_pid,
                           .submit_line = e->submit_line[0] != '\0' ? e->submit_line : NULL,
                           .state = job_state_words(JOB_STATE_RUNNING)->name,
                       });
    note(s, false);
}

/* ---- The file of kiln-step ---- */

static char *
figures_path(const struct agent_step *e)
{
    return xasprintf("%s/%s.%" PRId64, e->job->steps->figures_dir, e->job->uid, e->id);
}

/* All of it is there from the beginning, so that a full disk refuses it here. */
int
step_account_open_figures(const struct agent_step *e)
{
    static const struct step_figures nothing;
    CLEANUP_FREE char *path = figures_path(e);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || fd_write_all(fd, &nothing, sizeof(nothing)) == 0)
        return fd;
    close(fd);
    unlink(path);
    return -1;
}

/* False: kiln-step has told nothing. */
static bool
read_figures(const struct agent_step *e, struct step_figures *ret_figures)
{
    CLEANUP_FREE char *path = figures_path(e);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    *ret_figures = (struct step_figures){0};
    return fd >= 0 && pread(fd, ret_figures, sizeof(*ret_figures), 0) == sizeof(*ret_figures)
           && ret_figures->version != 0;
}

bool
step_account_has_begun(const struct agent_step *e)
{
    struct step_figures o;

    return read_figures(e, &o) && (o.flags & STEP_FIGURES_BEGAN);
}

static void
remove_figures(const struct agent_step *e)
{
    CLEANUP_FREE char *path = figures_path(e);

    unlink(path);
}

/* ---- The end ---- */

/* Whether the kernel has killed processes of the pod for memory since it was asked last. With
 * cgroup v2 it kills all of them, so the pod may have ended, but has its cgroup until its steps
 * have ended, too.
 */
static bool
had_oom(struct step_job *job)
{
    CLEANUP(cgroup_freep)
    struct cgroup *cgroup = pod_host_find_cgroup(job->steps->s.agent, job->uid);
    struct cgroup_usage usage = {0};
    uint64_t before = job->oom_kills;

    if (cgroup == NULL)
        return false;
    cgroup_read_usage(cgroup, &usage);
    job->oom_kills = usage.oom_kills;
    return usage.oom_kills > before;
}

/* Its processes get signals before its end is known here. */
static bool
is_ending(const struct step_job *job)
{
    const struct steps *s = job->steps;
    struct running_pod running;
    const struct pod *pod;

    if (job->is_ending || pods_find_running(s->s.pods, job->uid, &running) <= 0)
        return true;
    pod = pod_of(running.pod);
    return pod->meta.deleted_at_us > 0
           || (pod->spec.active_deadline_seconds != NULL
               && clock_real_us(s->s.agent->clock) - running.started_at_us
                      >= *pod->spec.active_deadline_seconds * INT64_C(1000000));
}

/* Somebody waits for the first one. Each report costs the controller a write, so users do not
 * have them sent at will.
 */
void
step_account_cancel(const struct agent_step *e, int64_t uid)
{
    struct steps *s = e->job->steps;

    if (step_records_cancel(s->records, e->job->uid, e->id, uid, clock_real_us(s->s.agent->clock)))
        note(s, true);
}

static enum job_state
find_state(const struct agent_step *e, const struct step_figures *o, bool is_cancelled)
{
    struct step_job *job = e->job;
    const bool is_over = o->flags & STEP_FIGURES_OVER;
    const bool was_ended = !is_over || o->signal == SIGKILL || o->signal == SIGTERM;

    if (o->flags & STEP_FIGURES_TIMED_OUT)
        return JOB_STATE_TIMED_OUT;
    if (is_over && o->exit_code == 0)
        return JOB_STATE_COMPLETED;
    if (is_cancelled || (o->flags & STEP_FIGURES_CANCELLED))
        return JOB_STATE_CANCELLED;
    if (e->is_out_of_memory || ((!is_over || o->signal == SIGKILL) && had_oom(job)))
        return JOB_STATE_OUT_OF_MEMORY;
    if (was_ended && is_ending(job))
        return JOB_STATE_CANCELLED;
    return is_over || !(o->flags & STEP_FIGURES_BEGAN) ? JOB_STATE_FAILED : JOB_STATE_CANCELLED;
}

static int64_t
clamp(uint64_t n)
{
    return n < INT64_MAX / 8 ? (int64_t)n : INT64_MAX / 8;
}

/* The numbers are the user's word. */
static void
end_record(const struct agent_step *e, const struct step_figures *o, bool is_told)
{
    const struct steps *s = e->job->steps;
    const struct step_record *begun = step_records_find(s->records, e->job->uid, e->id);
    const int64_t user_us = clamp(o->cpu_user_us), system_us = clamp(o->cpu_system_us);
    const int64_t peak = clamp(o->peak_memory_bytes);
    const int64_t code = o->exit_code < CODE_MOST ? (int64_t)o->exit_code : CODE_MOST;
    struct step_record r;
    enum job_state state;

    if (begun == NULL)
        return;
    r = *begun;
    r.end_at_us = r.observed_at_us = clock_real_us(s->s.agent->clock);
    state = find_state(e, o, begun->ended_by != NULL);
    r.state = job_state_words(state)->name;
    if (state != JOB_STATE_CANCELLED)
        r.ended_by = NULL;
    if (is_told && ((o->flags & STEP_FIGURES_OVER) || o->exit_code > 0)) {
        r.exit_code = &code;
        r.signal = o->signal < CODE_MOST ? o->signal : 0;
    }
    if (is_told) {
        r.cpu_user_us = &user_us;
        r.cpu_system_us = &system_us;
        if (peak > 0)
            r.peak_memory_bytes = &peak;
    }
    step_records_end(s->records, e->job->uid, &r);
    note(s, r.ended_by != NULL); /* somebody waits for it */
}

/* The cgroup has seen processes, too, that were not waited for. */
static void
add_cgroup_usage(const struct agent_step *e, struct step_figures *o)
{
    if (e->cpu_user_us + e->cpu_system_us <= o->cpu_user_us + o->cpu_system_us)
        return;
    o->cpu_user_us = e->cpu_user_us;
    o->cpu_system_us = e->cpu_system_us;
}

void
step_account_end(struct agent_step *e)
{
    struct agent_step *held = agent_step_find(&e->job->held, e->id);
    struct step_figures o;
    const bool is_told = read_figures(e, &o);

    remove_figures(e);
    if (e->is_cancelled)
        o.flags |= STEP_FIGURES_CANCELLED;
    add_cgroup_usage(e, &o);
    if (!(o.flags & (STEP_FIGURES_OVER | STEP_FIGURES_CANCELLED)) && had_oom(e->job)) {
        e->is_out_of_memory = true;
        step_why_note(e);
    }
    if (held != NULL)
        held->is_out_of_memory |= e->is_out_of_memory;
    if (held == NULL)
        end_record(e, &o, is_told);
    else if (is_told && !held->has_figures)
        held->figures = o;
}

void
step_account_fail(const struct agent_step *e)
{
    remove_figures(e);
    end_record(e, &(struct step_figures){.version = 0}, false);
}

/* A krun that was killed, or is of an earlier release, tells nothing: then there are the
 * figures of the tasks of this node, which may end a little later.
 */
void
step_account_end_held(struct agent_step *e)
{
    if (!e->has_figures && agent_step_find(&e->job->running, e->id) != NULL)
        return;
    e->figures.flags |= STEP_FIGURES_BEGAN | (e->is_cancelled ? STEP_FIGURES_CANCELLED : 0U);
    end_record(e, &e->figures, e->figures.version != 0);
}

void
step_account_close(const struct steps *s, const char *pod_uid)
{
    step_records_close(s->records, pod_uid, job_state_words(JOB_STATE_CANCELLED)->name,
                       clock_real_us(s->s.agent->clock));
    if (step_records_have_news(s->records))
        note(s, true);
}

/* ---- After a restart ---- */

static bool
is_here(const char *uid, void *context)
{
    const struct steps *s = context;

    return pods_has(s->s.pods, uid);
}

void
step_account_close_unknown(struct steps *s)
{
    step_records_close_others(s->records, is_here, s, job_state_words(JOB_STATE_NODE_FAILED)->name,
                              clock_real_us(s->s.agent->clock));
    if (step_records_have_news(s->records))
        note(s, true);
}

/* ---- Running steps ---- */

static bool
has_used_more(const struct step_record *r, int64_t user_us, int64_t system_us, int64_t peak)
{
    return r->cpu_user_us == NULL || r->cpu_system_us == NULL || user_us > *r->cpu_user_us
           || system_us > *r->cpu_system_us
           || peak > (r->peak_memory_bytes != NULL ? *r->peak_memory_bytes : 0);
}

static void
observe_figures(struct steps *s, const struct agent_step *e, const struct step_figures *o)
{
    const struct step_record *known = step_records_find(s->records, e->job->uid, e->id);
    const int64_t user_us = clamp(o->cpu_user_us), system_us = clamp(o->cpu_system_us);
    const int64_t peak = clamp(o->peak_memory_bytes);
    struct step_record r;

    if (known == NULL || !has_used_more(known, user_us, system_us, peak))
        return;
    r = *known;
    r.observed_at_us = clock_real_us(s->s.agent->clock);
    r.cpu_user_us = &user_us;
    r.cpu_system_us = &system_us;
    r.peak_memory_bytes = peak > 0 ? &peak : NULL;
    step_records_observe(s->records, e->job->uid, &r);
}

/* Its cgroup knows what processes use that have not ended. Of a step on several nodes krun tells
 * more, unless it, or a kiln-step, is of an earlier release.
 */
static void
observe_running(struct steps *s, const struct agent_step *e)
{
    const struct agent_step *held = agent_step_find(&e->job->held, e->id);
    struct cgroup_usage usage = {0};
    struct step_figures o;

    if ((held != NULL && held->observed.version != 0)
        || step_records_find(s->records, e->job->uid, e->id) == NULL)
        return;
    (void)read_figures(e, &o);
    if (e->cgroup != NULL)
        cgroup_read_usage(e->cgroup, &usage);
    if (usage.has_cpu) {
        o.cpu_user_us = usage.cpu_user_us;
        o.cpu_system_us = usage.cpu_system_us;
    }
    observe_figures(s, e, &o);
}

static void
observe_step(struct steps *s, const struct agent_step *e)
{
    if (e->phase != STEP_HELD)
        observe_running(s, e);
    else if (e->observed.version != 0)
        observe_figures(s, e, &e->observed);
}

/* Whether it is the turn of this one: of very many, some each time. */
static bool
is_turn(const struct steps *s, unsigned n)
{
    return n >= s->observed_before && n - s->observed_before < OBSERVED_MOST;
}

static bool
observe(void *context)
{
    struct steps *s = context;
    unsigned n = 0;
    size_t at = 0;
    void *value;

    while (map_next(s->jobs, &at, NULL, &value)) {
        const struct step_job *job = value;

        list_foreach(link, &job->running)
        {
            if (is_turn(s, n++))
                observe_step(s, container_of(link, struct agent_step, link));
        }
        list_foreach(link, &job->held)
        {
            if (is_turn(s, n++))
                observe_step(s, container_of(link, struct agent_step, link));
        }
    }
    s->observed_before =
        n > s->observed_before + OBSERVED_MOST ? s->observed_before + OBSERVED_MOST : 0;
    return n > 0;
}

/* ---- Life ---- */

int
step_account_open(struct steps *s, struct error *err)
{
    CLEANUP_FREE char *dir = xasprintf("%s/step-records", s->s.agent->state_dir);
    int r;

    s->figures_dir = xasprintf("%s/step-figures", s->s.agent->run_dir);
    r = dir_make(s->figures_dir, 0700, err);
    if (r == 0)
        r = step_records_open(dir, &s->records, err);
    if (r == 0)
        s->reporter = step_reporter_new(s->s.agent, s->records, observe, s);
    return r;
}

void
step_account_stop(struct steps *s)
{
    step_reporter_free(s->reporter);
    s->reporter = NULL;
}

void
step_account_fini(struct steps *s)
{
    step_account_stop(s);
    step_records_free(s->records);
    free(s->figures_dir);
}
