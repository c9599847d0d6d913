/* SPDX-License-Identifier: Apache-2.0 */
/* step_account.c - decides what a step's record says
 *
 * Four witnesses know something of a step's end: kiln-step, which may have been killed; its
 * cgroup, which has counted processes that nobody waited for; the kernel's count of kills for
 * memory, which is the whole pod's; and krun, which knows all nodes. Kiln-step and krun are
 * the user's, and are believed about the user's own step only. A state is the first that
 * fits of: a time limit, success, a cancellation, lack of memory, the end of the job, failure.
 */
#include "agent/steps/step_account.h"

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
#include "agent/steps/step_process.h"
#include "agent/steps/step_records.h"
#include "agent/steps/step_reporter.h"
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
#include "lib/base/strbuf.h"
#include "lib/step/byte_text.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_request.h"

#define CODE_MOST 255
#define DOTS      "..."

#define OBSERVED_MOST 500 /* running steps in one report */

struct step_account {
    struct step_account_settings s;
    char *figures_dir;
    struct step_records *records;
    struct step_reporter *reporter; /* NULL: stopped */
    unsigned observed_before;       /* running steps, before the next report */
    unsigned n_seen;                /* while a report is made */
};

static void
note(const struct step_account *a, bool is_end)
{
    if (a->reporter != NULL)
        step_reporter_note(a->reporter, is_end);
}

static int64_t
now(const struct step_account *a)
{
    return clock_real_us(a->s.agent->clock);
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
step_account_make_title(struct arena *to, const struct step_request *r, struct step_title *title)
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
    title->name = arena_strdup(to, name.text);
    title->command = arena_strdup(to, command.text);
    if (line != NULL)
        add_printable(&submit_line, arena, line);
    title->submit_line = arena_strdup(to, submit_line.text);
    title->time_limit_s = r->time_limit_s;
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
step_account_begin(struct step_account *a, const struct object *pod, const struct step_begin *b)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;
    const struct meta *meta = pod->meta;
    const int64_t now_us = now(a);

    step_layout_format_nodes(b->layout, &list);
    add_printable(&nodes, arena, list.text);
    step_records_begin(
        a->records, &(struct step_records_pod){meta->namespace, meta->name, meta->uid},
        &(struct step_record){
            .id = b->id,
            .name = b->title->name,
            .command = b->title->command,
            .nodes = nodes.text,
            .node_count = b->layout->n_nodes,
            .tasks = b->layout->n_tasks,
            .cpus = count_cpus(b->layout),
            .start_at_us = now_us,
            .observed_at_us = now_us,
            .time_limit_s = b->title->time_limit_s,
            .distribution = b->distribution,
            .host = b->krun_pid > 0 ? a->s.agent->node : NULL,
            .host_pid = b->krun_pid,
            .submit_line = b->title->submit_line[0] != '\0' ? b->title->submit_line : NULL,
            .state = job_state_words(JOB_STATE_RUNNING)->name,
        });
    note(a, false);
}

/* ---- The file of kiln-step ---- */

static char *
figures_path(const struct step_account *a, const char *pod_uid, int64_t id)
{
    return xasprintf("%s/%s.%" PRId64, a->figures_dir, pod_uid, id);
}

/* All of it is there from the beginning, so that a full disk refuses it here. */
int
step_account_open_figures(const struct step_account *a, const char *pod_uid, int64_t id)
{
    static const struct step_figures nothing;
    CLEANUP_FREE char *path = figures_path(a, pod_uid, id);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || fd_write_all(fd, &nothing, sizeof(nothing)) == 0)
        return fd;
    close(fd);
    unlink(path);
    return -1;
}

/* False: kiln-step has told nothing. */
static bool
read_figures(const struct step_account *a, const char *pod_uid, int64_t id,
             struct step_figures *ret_figures)
{
    CLEANUP_FREE char *path = figures_path(a, pod_uid, id);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    *ret_figures = (struct step_figures){0};
    return fd >= 0 && pread(fd, ret_figures, sizeof(*ret_figures), 0) == sizeof(*ret_figures)
           && ret_figures->version != 0;
}

bool
step_account_has_begun(const struct step_account *a, const char *pod_uid, int64_t id)
{
    struct step_figures o;

    return read_figures(a, pod_uid, id, &o) && (o.flags & STEP_FIGURES_BEGAN);
}

static void
remove_figures(const struct step_account *a, const char *pod_uid, int64_t id)
{
    CLEANUP_FREE char *path = figures_path(a, pod_uid, id);

    unlink(path);
}

/* ---- The end ---- */

/* Whether the kernel has killed processes of the pod for memory since it was asked last. With
 * cgroup v2 it kills all of them, so the pod may have ended, but has its cgroup until its steps
 * have ended, too.
 */
static bool
had_oom(const struct step_account *a, struct step_account_pod *p)
{
    CLEANUP(cgroup_freep) struct cgroup *cgroup = pod_host_find_cgroup(a->s.agent, p->uid);
    struct cgroup_usage usage = {0};
    uint64_t before = p->oom_kills;

    if (cgroup == NULL)
        return false;
    cgroup_read_usage(cgroup, &usage);
    p->oom_kills = usage.oom_kills;
    return usage.oom_kills > before;
}

/* Its processes get signals before its end is known here. */
static bool
is_ending(const struct step_account *a, const struct step_account_pod *p)
{
    struct running_pod running;
    const struct pod *pod;

    if (p->is_ending || pods_find_running(a->s.pods, p->uid, &running) <= 0)
        return true;
    pod = pod_of(running.pod);
    return pod->meta.deleted_at_us > 0
           || (pod->spec.active_deadline_seconds != NULL
               && now(a) - running.started_at_us
                      >= *pod->spec.active_deadline_seconds * INT64_C(1000000));
}

/* Somebody waits for the first one. Each report costs the controller a write, so users do not
 * have them sent at will.
 */
void
step_account_cancel(struct step_account *a, const char *pod_uid, int64_t id, int64_t user)
{
    if (step_records_cancel(a->records, pod_uid, id, user, now(a)))
        note(a, true);
}

static enum job_state
find_state(const struct step_account *a, struct step_account_pod *p, const struct step_figures *o,
           bool is_cancelled, bool is_out_of_memory)
{
    const bool is_over = o->flags & STEP_FIGURES_OVER;
    const bool was_ended = !is_over || o->signal == SIGKILL || o->signal == SIGTERM;

    if (o->flags & STEP_FIGURES_TIMED_OUT)
        return JOB_STATE_TIMED_OUT;
    if (is_over && o->exit_code == 0)
        return JOB_STATE_COMPLETED;
    if (is_cancelled || (o->flags & STEP_FIGURES_CANCELLED))
        return JOB_STATE_CANCELLED;
    if (is_out_of_memory || ((!is_over || o->signal == SIGKILL) && had_oom(a, p)))
        return JOB_STATE_OUT_OF_MEMORY;
    if (was_ended && is_ending(a, p))
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
end_record(struct step_account *a, struct step_account_pod *p, int64_t id,
           const struct step_figures *o, bool is_told, bool is_out_of_memory)
{
    const struct step_record *begun = step_records_find(a->records, p->uid, id);
    const int64_t user_us = clamp(o->cpu_user_us), system_us = clamp(o->cpu_system_us);
    const int64_t peak = clamp(o->peak_memory_bytes);
    const int64_t code = o->exit_code < CODE_MOST ? (int64_t)o->exit_code : CODE_MOST;
    struct step_record r;
    enum job_state state;

    if (begun == NULL)
        return;
    r = *begun;
    r.end_at_us = r.observed_at_us = now(a);
    state = find_state(a, p, o, begun->ended_by != NULL, is_out_of_memory);
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
    step_records_end(a->records, p->uid, &r);
    note(a, r.ended_by != NULL); /* somebody waits for it */
}

/* The cgroup has seen processes, too, that were not waited for. */
static void
add_cgroup_usage(const struct cgroup_usage *usage, struct step_figures *o)
{
    if (usage->cpu_user_us + usage->cpu_system_us <= o->cpu_user_us + o->cpu_system_us)
        return;
    o->cpu_user_us = usage->cpu_user_us;
    o->cpu_system_us = usage->cpu_system_us;
}

bool
step_account_end(struct step_account *a, struct step_account_pod *p, int64_t id,
                 struct step_outcome *outcome, const struct cgroup_usage *usage,
                 struct step_outcome *held)
{
    struct step_figures o;
    const bool is_told = read_figures(a, p->uid, id, &o);

    remove_figures(a, p->uid, id);
    if (outcome->is_cancelled)
        o.flags |= STEP_FIGURES_CANCELLED;
    add_cgroup_usage(usage, &o);
    if (!(o.flags & (STEP_FIGURES_OVER | STEP_FIGURES_CANCELLED)) && had_oom(a, p))
        outcome->is_out_of_memory = true;
    if (held != NULL)
        held->is_out_of_memory |= outcome->is_out_of_memory;
    if (held == NULL)
        end_record(a, p, id, &o, is_told, outcome->is_out_of_memory);
    else if (is_told && !held->has_figures)
        held->figures = o;
    return outcome->is_out_of_memory;
}

void
step_account_fail(struct step_account *a, struct step_account_pod *p, int64_t id)
{
    remove_figures(a, p->uid, id);
    end_record(a, p, id, &(struct step_figures){.version = 0}, false, false);
}

/* A krun that was killed, or is of an earlier release, tells nothing: then there are the
 * figures of the tasks of this node, which may end a little later.
 */
void
step_account_end_held(struct step_account *a, struct step_account_pod *p, int64_t id,
                      struct step_outcome *outcome, bool is_here)
{
    struct step_figures *o = &outcome->figures;

    if (!outcome->has_figures && is_here)
        return;
    o->flags |= STEP_FIGURES_BEGAN | (outcome->is_cancelled ? STEP_FIGURES_CANCELLED : 0U);
    end_record(a, p, id, o, o->version != 0, outcome->is_out_of_memory);
}

void
step_account_close(struct step_account *a, const char *pod_uid)
{
    step_records_close(a->records, pod_uid, job_state_words(JOB_STATE_CANCELLED)->name, now(a));
    if (step_records_have_news(a->records))
        note(a, true);
}

/* ---- After a restart ---- */

static bool
is_here(const char *uid, void *context)
{
    const struct step_account *a = context;

    return pods_has(a->s.pods, uid);
}

void
step_account_close_unknown(struct step_account *a)
{
    step_records_close_others(a->records, is_here, a, job_state_words(JOB_STATE_NODE_FAILED)->name,
                              now(a));
    if (step_records_have_news(a->records))
        note(a, true);
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
observe_figures(struct step_account *a, const char *pod_uid, int64_t id,
                const struct step_figures *o)
{
    const struct step_record *known = step_records_find(a->records, pod_uid, id);
    const int64_t user_us = clamp(o->cpu_user_us), system_us = clamp(o->cpu_system_us);
    const int64_t peak = clamp(o->peak_memory_bytes);
    struct step_record r;

    if (known == NULL || !has_used_more(known, user_us, system_us, peak))
        return;
    r = *known;
    r.observed_at_us = now(a);
    r.cpu_user_us = &user_us;
    r.cpu_system_us = &system_us;
    r.peak_memory_bytes = peak > 0 ? &peak : NULL;
    step_records_observe(a->records, pod_uid, &r);
}

/* Its cgroup knows what processes use that have not ended. */
void
step_account_observe(struct step_account *a, const char *pod_uid, int64_t id,
                     const struct step_process *process)
{
    struct cgroup_usage usage;
    struct step_figures o;

    if (step_records_find(a->records, pod_uid, id) == NULL)
        return;
    (void)read_figures(a, pod_uid, id, &o);
    step_process_read_usage(process, &usage);
    if (usage.has_cpu) {
        o.cpu_user_us = usage.cpu_user_us;
        o.cpu_system_us = usage.cpu_system_us;
    }
    observe_figures(a, pod_uid, id, &o);
}

void
step_account_observe_held(struct step_account *a, const char *pod_uid, int64_t id,
                          const struct step_outcome *outcome)
{
    if (outcome->observed.version != 0)
        observe_figures(a, pod_uid, id, &outcome->observed);
}

bool
step_account_is_turn(struct step_account *a)
{
    const unsigned n = a->n_seen++;

    return n >= a->observed_before && n - a->observed_before < OBSERVED_MOST;
}

static bool
observe(void *context)
{
    struct step_account *a = context;

    a->n_seen = 0;
    a->s.observe(a->s.context);
    a->observed_before =
        a->n_seen > a->observed_before + OBSERVED_MOST ? a->observed_before + OBSERVED_MOST : 0;
    return a->n_seen > 0;
}

/* ---- Life ---- */

int
step_account_open(const struct step_account_settings *settings, struct step_account **ret_account,
                  struct error *err)
{
    CLEANUP_FREE char *dir = xasprintf("%s/step-records", settings->agent->state_dir);
    struct step_account *a = xnew(struct step_account);
    int r;

    a->s = *settings;
    a->figures_dir = xasprintf("%s/step-figures", settings->agent->run_dir);
    r = dir_make(a->figures_dir, 0700, err);
    if (r == 0)
        r = step_records_open(dir, &a->records, err);
    if (r < 0) {
        step_account_free(a);
        return r;
    }
    a->reporter = step_reporter_new(a->s.agent, a->records, observe, a);
    *ret_account = a;
    return 0;
}

void
step_account_stop(struct step_account *a)
{
    step_reporter_free(a->reporter);
    a->reporter = NULL;
}

void
step_account_free(struct step_account *a)
{
    if (a == NULL)
        return;
    step_account_stop(a);
    step_records_free(a->records);
    free(a->figures_dir);
    free(a);
}
