/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/explain/cpu_forecast.h"

#define SECOND_US  INT64_C(1000000)
#define PER_OCTAVE 32u /* cells until the time from now doubles */

/* The error that sums of fractions may have. */
#define ROUNDING_MCPU 0.5

int64_t
cpu_forecast_begin_us(unsigned cell)
{
    unsigned octave, place;

    if (cell < CPU_FORECAST_LINEAR)
        return cell * SECOND_US;
    octave = (cell - CPU_FORECAST_LINEAR) / PER_OCTAVE;
    place = (cell - CPU_FORECAST_LINEAR) % PER_OCTAVE;
    return ((int64_t)(PER_OCTAVE + place) << (octave + 1)) * SECOND_US;
}

unsigned
cpu_forecast_cell(int64_t in_us)
{
    int64_t in_s = in_us / SECOND_US;
    unsigned octave = 0, cell;

    if (in_s < 0)
        return 0;
    if (in_s < CPU_FORECAST_LINEAR)
        return (unsigned)in_s;
    while ((in_s >> (octave + 1)) >= 2 * PER_OCTAVE)
        if (++octave > CPU_FORECAST_CELLS / PER_OCTAVE)
            return CPU_FORECAST_CELLS;
    cell =
        CPU_FORECAST_LINEAR + octave * PER_OCTAVE + (unsigned)((in_s >> (octave + 1)) - PER_OCTAVE);
    return cell < CPU_FORECAST_CELLS ? cell : CPU_FORECAST_CELLS;
}

void
cpu_forecast_begin(struct cpu_forecast *f)
{
    *f = (struct cpu_forecast){0};
}

/* The fraction of the cell that is after that time. */
static double
part_behind(unsigned cell, int64_t in_us)
{
    int64_t begin_us = cpu_forecast_begin_us(cell);
    int64_t end_us = cpu_forecast_begin_us(cell + 1);

    return (double)(end_us - in_us) / (double)(end_us - begin_us);
}

/* The cells contain differences to the cell before, until settle sums them. */
void
cpu_forecast_add(struct cpu_forecast *f, int64_t mcpu, int64_t in_us)
{
    unsigned cell;
    double in_cell;

    if (in_us < 0)
        in_us = 0;
    cell = cpu_forecast_cell(in_us);
    if (cell >= CPU_FORECAST_CELLS)
        return;
    in_cell = (double)mcpu * part_behind(cell, in_us);
    f->free_mcpu[cell] += in_cell;
    f->most_mcpu[cell] += (double)mcpu;
    if (cell + 1 < CPU_FORECAST_CELLS)
        f->free_mcpu[cell + 1] += (double)mcpu - in_cell;
}

void
cpu_forecast_settle(struct cpu_forecast *f)
{
    for (unsigned i = 1; i < CPU_FORECAST_CELLS; i++) {
        f->free_mcpu[i] += f->free_mcpu[i - 1];
        f->most_mcpu[i] += f->most_mcpu[i - 1];
    }
}

/* The cells of a run: whole cells, and a fraction of the cell after them. */
struct forecast_run {
    unsigned from, until;
    double part;
};

static struct forecast_run
run_from(unsigned from, int64_t run_us)
{
    int64_t begin_us = cpu_forecast_begin_us(from);
    int64_t end_us = run_us < INT64_MAX - begin_us ? begin_us + run_us : INT64_MAX;
    unsigned until = cpu_forecast_cell(end_us);

    return (struct forecast_run){
        .from = from,
        .until = until,
        .part = until < CPU_FORECAST_CELLS ? 1.0 - part_behind(until, end_us) : 0.0,
    };
}

/* The last cell of the run that has too few CPUs; CPU_FORECAST_CELLS: none. */
static unsigned
find_lack(const struct cpu_forecast *f, double mcpu, const struct forecast_run *run)
{
    if (run->part > 0.0
        && (f->free_mcpu[run->until] + ROUNDING_MCPU < mcpu * run->part
            || f->most_mcpu[run->until] + ROUNDING_MCPU < mcpu))
        return run->until;
    for (unsigned i = run->until; i-- > run->from;)
        if (f->free_mcpu[i] + ROUNDING_MCPU < mcpu)
            return i;
    return CPU_FORECAST_CELLS;
}

unsigned
cpu_forecast_find(const struct cpu_forecast *f, int64_t mcpu, int64_t run_us, unsigned from)
{
    while (from < CPU_FORECAST_CELLS) {
        struct forecast_run run = run_from(from, run_us);
        unsigned lack = find_lack(f, (double)mcpu, &run);

        if (lack == CPU_FORECAST_CELLS)
            break;
        from = lack + 1;
    }
    return from;
}

void
cpu_forecast_take(struct cpu_forecast *f, int64_t mcpu, int64_t run_us, unsigned from)
{
    struct forecast_run run = run_from(from, run_us);

    for (unsigned i = run.from; i < run.until; i++) {
        f->free_mcpu[i] -= (double)mcpu;
        f->most_mcpu[i] -= (double)mcpu;
    }
    if (run.part > 0.0)
        f->free_mcpu[run.until] -= (double)mcpu * run.part;
}
