/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_time.h - points in time and lengths of time as Slurm prints and reads
 * them
 *
 * Thread: the main one; reads the environment.
 */
#pragma once

#include <stdint.h>

struct error;
struct strbuf;

/* "2026-11-29T15:23:13", or as $SLURM_TIME_FORMAT says: standard, relative, or
 * a format of strftime(3).
 */
void slurm_time_add(int64_t us, struct strbuf *out);

/* "0:05", "1:00:00", "1-02:03:04", as in squeue; the second always has hours
 * ("00:00:05"), as in sacct; the third is of CPU times: "00:00.001" below an
 * hour, otherwise "01:00:00".
 */
void slurm_time_add_length(int64_t seconds, struct strbuf *out);
void slurm_time_add_elapsed(int64_t seconds, struct strbuf *out);
void slurm_time_add_cpu(int64_t us, struct strbuf *out);

/* Reads the times of -S and -E: "now-3days", "11/29/26-15:00", "HH:MM AM",
 * "2026-11-29T15:00", "midnight". -EINVAL in Slurm's words.
 */
int slurm_time_parse(const char *text, int64_t now_us, int64_t *ret_us, struct error *err);

/* Prints "Sun Nov 29 15:23:20 2026" as a line, above a long list. */
void slurm_time_print_date(void);

/* "0:03", "1-02:03:04": seconds; 0 for anything else. */
int64_t slurm_time_parse_elapsed(const char *text);
