/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_forecast.h - how many CPUs of some nodes come free when, for a forecast of
 * who starts when
 *
 * Time is cut into cells: of a second in the first minute, and from then on of
 * a sixty-fourth to a thirty-second of the time from now. So there are few
 * cells up to a year, and a time is told as exactly as people ask for it. A
 * cell knows how many CPUs are free in it on average, so that short jobs that
 * take turns fill it as one long one does, and how many are free at some moment
 * of it, which no wider job gets.
 *
 * CPUs alone are counted, and not where they are: a job may have to wait
 * longer for CPUs of one node, for memory or for a device. It never has to
 * wait less.
 *
 * Called by:  start_forecast.c.
 * Thread:     one at a time.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

#define CPU_FORECAST_LINEAR 64u /* cells of a second */
#define CPU_FORECAST_CELLS  (CPU_FORECAST_LINEAR + 19u * 32u) /* over a year */

struct cpu_forecast {
    double free_mcpu[CPU_FORECAST_CELLS]; /* on average */
    double most_mcpu[CPU_FORECAST_CELLS]; /* at one moment */
};

/* Make, in this order. Begin: without CPUs. Add: so many, which come free so
 * long from now (0: are free; INT64_MAX: never). Settle: all were added.
 */
void cpu_forecast_begin(struct cpu_forecast *f);
void cpu_forecast_add(struct cpu_forecast *f, int64_t mcpu, int64_t in_us);
void cpu_forecast_settle(struct cpu_forecast *f);

/* The first cell, from that one on, from which so many are free for so long;
 * CPU_FORECAST_CELLS: there is none. Take: they are so no more.
 */
unsigned cpu_forecast_find(const struct cpu_forecast *f,
                           int64_t mcpu,
                           int64_t run_us,
                           unsigned from);
void cpu_forecast_take(struct cpu_forecast *f,
                       int64_t mcpu,
                       int64_t run_us,
                       unsigned from);

/* The cell of that time from now, and when it begins. */
unsigned cpu_forecast_cell(int64_t in_us);
int64_t cpu_forecast_begin_us(unsigned cell);
