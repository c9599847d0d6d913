/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/replay/log_model.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "testsuite/replay/job_log.h"

#define WEEK_S 604800

/* ---- Random numbers ---- */

/* Uniform between 0 and 1, both excluded. */
static double
draw(struct random_source *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double
draw_normal(struct random_source *random)
{
    double radius = sqrt(-2 * log(draw(random)));

    return radius * cos(2 * M_PI * draw(random));
}

/* Marsaglia and Tsang, 2000; the shape must be at least 1. */
static double
draw_gamma(struct random_source *random, double shape, double scale)
{
    double d = shape - 1 / 3., c = 1 / sqrt(9 * d);

    for (;;) {
        double x = draw_normal(random), v = 1 + c * x;

        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(draw(random)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v * scale;
    }
}

/* ---- Lublin's model ---- */

#define HALF_HOURS 48
#define USERS      64
#define GOES_ON    0.6 /* the same user submits the next job */
#define REPEATS    0.8 /* the same job again */
#define CRASHES    0.12

/* Rounds a limit to a value that people write. */
static int64_t
round_limit(double run_s)
{
    static const int values[] = {60,    120,   300,   600,   900,   1200,  1800,
                                 3600,  5400,  7200,  10800, 14400, 21600, 28800,
                                 36000, 43200, 57600, 86400, 129600};

    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        if (run_s <= values[i])
            return values[i];
    return 172800;
}

static unsigned
draw_width(struct random_source *random, unsigned procs)
{
    double high = log2(procs), middle = high - 2.5, low = 0.8;
    double u = draw(random), x;
    unsigned width;

    if (u <= 0.244)
        return 1;
    x = draw(random) <= 0.86 ? low + (middle - low) * draw(random)
                             : middle + (high - middle) * draw(random);
    if (u <= 0.244 + 0.576)
        x = floor(x + 0.5);
    width = (unsigned)(pow(2, x) + 0.5);
    return width < 1 ? 1 : width > procs ? procs : width;
}

/* A mixture of two gamma distributions of the logarithm, dependent on the
 * width.
 */
static double
draw_run(struct random_source *random, unsigned width, unsigned procs)
{
    double scale = 128. / procs > 1 ? 1 : 128. / procs;
    double p = -0.0054 * width * scale + 0.78, x;

    if (p < 0)
        p = 0;
    do
        x = draw(random) <= p ? draw_gamma(random, 4.2, 0.94) : draw_gamma(random, 312, 0.03);
    while (x > 12);
    x = floor(exp(x));
    return x < 1 ? 1 : x;
}

struct model {
    struct random_source *random;
    double weights[HALF_HOURS]; /* per half hour of a day */
    double time_s;
    double user_weights, of_user[USERS];
    unsigned user;
    struct {
        unsigned width;
        double run_s;
        int64_t limit_s;
    } jobs[USERS]; /* the job that each user repeats */
};

static void
init_model(struct model *m, struct random_source *random)
{
    double sum = 0;

    *m = (struct model){.random = random};
    for (unsigned i = 0; i < HALF_HOURS; i++) {
        double x = i + 11;

        m->weights[(i + 10) % HALF_HOURS] = pow(x / 3.9631, 8.1737 - 1) * exp(-x / 3.9631);
    }
    for (unsigned i = 0; i < HALF_HOURS; i++)
        sum += m->weights[i];
    for (unsigned i = 0; i < HALF_HOURS; i++)
        m->weights[i] *= HALF_HOURS / sum;
    for (unsigned i = 0; i < USERS; i++)
        m->user_weights += m->of_user[i] = 1. / (i + 1);
}

/* Adds the time to the next job, which is shorter by day. */
static void
pass_time(struct model *m)
{
    double points;

    do
        points = draw_gamma(m->random, 10.2303 * 1.0225, 0.4871);
    while (points > 13);
    points = exp(points);
    while (points > 0) {
        double weight = m->weights[(int)(m->time_s / 1800) % HALF_HOURS];
        double next_s = (floor(m->time_s / 1800) + 1) * 1800;

        if ((next_s - m->time_s) * weight >= points) {
            m->time_s += points / weight;
            return;
        }
        points -= (next_s - m->time_s) * weight;
        m->time_s = next_s;
    }
}

/* Chooses the user by Zipf's law. */
static void
choose_user(struct model *m)
{
    double x = draw(m->random) * m->user_weights;

    for (m->user = 0; m->user < USERS - 1; m->user++) {
        x -= m->of_user[m->user];
        if (x <= 0)
            return;
    }
}

static void
begin_job(struct model *m, unsigned procs)
{
    unsigned width = draw_width(m->random, procs);
    double run_s = draw_run(m->random, width, procs);

    m->jobs[m->user].width = width;
    m->jobs[m->user].run_s = run_s;
    m->jobs[m->user].limit_s = round_limit(run_s * (1 - 2 * log(draw(m->random))));
}

void
log_model_lublin(struct job_log *log, struct random_source *random, unsigned jobs, unsigned procs)
{
    struct model m;

    init_model(&m, random);
    for (unsigned i = 0; i < jobs; i++) {
        double run_s, limit_s;

        pass_time(&m);
        if (i == 0 || draw(random) > GOES_ON)
            choose_user(&m);
        if (m.jobs[m.user].width == 0 || draw(random) > REPEATS)
            begin_job(&m, procs);
        limit_s = (double)m.jobs[m.user].limit_s;
        run_s = m.jobs[m.user].run_s * exp(0.4 * draw_normal(random));
        if (draw(random) < CRASHES)
            run_s = 1 + 59 * draw(random);
        job_log_add(log, &(struct log_job){
                             .id = i + 1,
                             .submit_s = (int64_t)m.time_s,
                             .run_s = (int64_t)fmax(1, fmin(run_s, limit_s)),
                             .limit_s = m.jobs[m.user].limit_s,
                             .user = m.user + 1,
                             .procs = m.jobs[m.user].width,
                             .start_s = -1,
                         });
    }
}

/* ---- Sampling of a log ---- */

static unsigned
at_most(unsigned width, unsigned procs)
{
    return width > procs ? procs : width;
}

static int64_t
find_last_user(const struct job_log *source)
{
    int64_t last = 0;

    for (size_t i = 0; i < source->count; i++)
        if (source->jobs[i].user > last)
            last = source->jobs[i].user;
    return last;
}

/* The users who have jobs, in ascending order. */
static int64_t *
list_users(const struct job_log *source, size_t *ret_count)
{
    size_t last = (size_t)find_last_user(source), count = 0;
    CLEANUP_FREE bool *has = xnew_array(bool, last + 1);
    int64_t *users = xnew_array(int64_t, last + 1);

    for (size_t i = 0; i < source->count; i++)
        if (source->jobs[i].user > 0)
            has[source->jobs[i].user] = true;
    for (size_t i = 0; i <= last; i++)
        if (has[i])
            users[count++] = (int64_t)i;
    *ret_count = count;
    return users;
}

static void
add_shifted(struct job_log *log, const struct log_job *job, int64_t user, int64_t submit_s,
            unsigned procs)
{
    struct log_job j = *job;

    j.id = (int64_t)log->count + 1;
    j.user = user;
    j.submit_s = submit_s;
    j.procs = at_most(j.procs, procs);
    job_log_add(log, &j);
}

void
log_model_users(struct job_log *log, struct random_source *random, const struct job_log *source,
                unsigned copies, unsigned procs)
{
    size_t n_users;
    CLEANUP_FREE int64_t *users = list_users(source, &n_users);
    uint64_t weeks = (uint64_t)(source->jobs[source->count - 1].submit_s / WEEK_S + 1);

    for (size_t k = 0; k < n_users * copies; k++) {
        int64_t user = users[random_next(random) % n_users];
        int64_t shift_s = (int64_t)(random_next(random) % weeks) * WEEK_S;

        for (size_t i = 0; i < source->count; i++)
            if (source->jobs[i].user == user)
                add_shifted(log, &source->jobs[i], (int64_t)k + 1,
                            (source->jobs[i].submit_s + shift_s) % ((int64_t)weeks * WEEK_S),
                            procs);
    }
}

void
log_model_weeks(struct job_log *log, struct random_source *random, const struct job_log *source,
                unsigned weeks)
{
    int64_t last = source->jobs[source->count - 1].submit_s / WEEK_S;

    for (unsigned k = 0; last > 0 && k < weeks; k++) {
        int64_t week = (int64_t)(random_next(random) % (uint64_t)last);

        for (size_t i = 0; i < source->count; i++) {
            const struct log_job *j = &source->jobs[i];

            if (j->submit_s / WEEK_S == week)
                add_shifted(log, j, j->user, j->submit_s + (k - week) * WEEK_S, j->procs);
        }
    }
}

void
log_model_scale(struct job_log *log, const struct job_log *source, double factor, unsigned procs)
{
    for (size_t i = 0; i < source->count; i++) {
        struct log_job j = source->jobs[i];

        j.procs = at_most((unsigned)ceil(j.procs * factor), procs);
        job_log_add(log, &j);
    }
}

void
log_model_load(struct job_log *log, double load, unsigned procs)
{
    double area = 0, stretch = 1;
    int64_t begin_s;

    if (log->count == 0)
        return;
    job_log_sort(log);
    begin_s = log->jobs[0].submit_s;
    for (size_t i = 0; i < log->count; i++)
        area += (double)log->jobs[i].procs * (double)log->jobs[i].run_s;
    if (load > 0)
        stretch = area / (load * procs) / (double)(log->jobs[log->count - 1].submit_s - begin_s);
    for (size_t i = 0; i < log->count; i++)
        log->jobs[i].submit_s = (int64_t)((double)(log->jobs[i].submit_s - begin_s) * stretch);
}
