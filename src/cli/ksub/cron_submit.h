/* SPDX-License-Identifier: Apache-2.0 */
/* cron_submit.h - a submission that repeats by a schedule (ksub --cron)
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct client;
struct error;
struct json;
struct submission;

/* The schedule as Kubernetes accepts it: Sunday may be 7 in a crontab, but there
 * it is 0. In the arena.
 */
const char *cron_submit_schedule(const char *text, struct arena *arena);

/* The first of the five fields that is wrong, and what it may be, in the arena;
 * NULL: there are not five fields, or none of them is wrong.
 */
const char *cron_submit_explain(const char *text, struct arena *arena);

/* The CronJob that creates Jobs like `job`. Its name is the job's with random
 * letters; its schedule is in this host's time zone.
 */
struct json *cron_submit_manifest(const struct submission *submission, const struct json *job,
                                  struct arena *arena);

/* Sends the CronJob, and prints its name and next time. */
int cron_submit_run(const struct submission *submission, struct client *client,
                    const struct json *manifest, struct error *err);
