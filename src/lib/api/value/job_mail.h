/* SPDX-License-Identifier: Apache-2.0 */
/* job_mail.h - of which events of a job its user wants mail, and where to
 *
 * Jobs have both as annotations, in Slurm's words.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;

enum job_mail_event {
    JOB_MAIL_BEGIN = 1 << 0,
    JOB_MAIL_END = 1 << 1,
    JOB_MAIL_FAIL = 1 << 2,
    JOB_MAIL_REQUEUE = 1 << 3,
    JOB_MAIL_INVALID_DEPEND = 1 << 4,
    JOB_MAIL_TIME_LIMIT = 1 << 5,
    JOB_MAIL_TIME_LIMIT_50 = 1 << 6,
    JOB_MAIL_TIME_LIMIT_80 = 1 << 7,
    JOB_MAIL_TIME_LIMIT_90 = 1 << 8,
    JOB_MAIL_ARRAY_TASKS = 1 << 9, /* has no effect: an array is one job */
    JOB_MAIL_STAGE_OUT = 1 << 10,  /* likewise: there are no burst buffers */
};

/* "END,FAIL", in any case, adds these to *events; NONE removes all. */
int job_mail_parse(const char *text, unsigned *events, struct error *err);

/* The text of these events. */
const char *job_mail_format(unsigned events, struct arena *arena);

#define JOB_MAIL_ADDRESSES 5

/* Addresses, or names of users whom the site's mail knows, with commas between. */
int job_mail_check_addresses(const char *text, struct error *err);
