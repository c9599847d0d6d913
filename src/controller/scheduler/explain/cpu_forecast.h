/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_forecast.h - how many CPUs of a set of nodes become free when, for a
 * forecast of starts
 *
 * Time is divided into cells: of a second in the first minute, and after that
 * of a sixty-fourth to a thirty-second of the time from now. So a year needs
 * few cells, and a time is as exact as people need it. A cell has the CPUs that
 * are free in it on average, so that successive short jobs fill it as one long
 * job does, and those that are free at some moment of it, which is the limit
 * for the width of a job.
 *
 * Only CPUs are counted, without their nodes: a job may have to wait longer for
 * CPUs of one node, for memory or for a device, but never less long.
 *
 * Called by:  start_forecast.c.
 * Thread:     one at a time.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

#define CPU_FORECAST_LINEAR 64u                               /* cells of a second */
#define CPU_FORECAST_CELLS  (CPU_FORECAST_LINEAR + 19u * 32u) /* over a year */

struct cpu_forecast {
    double free_mcpu[CPU_FORECAST_CELLS]; /* on average */
    double most_mcpu[CPU_FORECAST_CELLS]; /* at one moment */
};

/* Make, in this order. Begin: starts without CPUs. Add: adds CPUs that become
 * free that long from now (0: they are free; INT64_MAX: never). Settle: to be
 * called after the last add.
 */
void cpu_forecast_begin(struct cpu_forecast *f);
void cpu_forecast_add(struct cpu_forecast *f, int64_t mcpu, int64_t in_us);
void cpu_forecast_settle(struct cpu_forecast *f);

/* Find: the first cell, at `from` or later, from which that many CPUs are free
 * for that long; CPU_FORECAST_CELLS: there is none. Take: uses these CPUs up.
 */
unsigned cpu_forecast_find(const struct cpu_forecast *f, int64_t mcpu, int64_t run_us,
                           unsigned from);
void cpu_forecast_take(struct cpu_forecast *f, int64_t mcpu, int64_t run_us, unsigned from);

/* The cell that contains a time from now, and the time when a cell begins. */
unsigned cpu_forecast_cell(int64_t in_us);
int64_t cpu_forecast_begin_us(unsigned cell);
