/* SPDX-License-Identifier: Apache-2.0 */
/* daily_usage.h - how much an attempt adds to the sums by day, account, user
 * and partition, which reports read
 *
 * The amounts that an attempt held count for each day on which it ran; its end
 * and its wait count for the day on which it ended. Days are in UTC.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct history_row;

struct daily_usage {
    int64_t day; /* days since 1970 */
    int64_t ended, completed, failed, stopped;
    double cpu_s, cpu_used_s;
    double cpu_measured_s; /* the part of cpu_s whose use was measured */
    double memory_gib_s;
    double device_s;
    int64_t started, wait_s;
};

/* Count: the number of days on which the attempt counts, at most
 * DAILY_USAGE_MOST. Of: the usage on the n-th of them.
 */
#define DAILY_USAGE_MOST 400
unsigned daily_usage_count(const struct history_row *row);
void daily_usage_of(const struct history_row *row, unsigned n, struct daily_usage *ret_usage);
