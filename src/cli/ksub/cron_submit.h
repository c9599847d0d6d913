/* SPDX-License-Identifier: Apache-2.0 */
/* cron_submit.h - a submission that is made again and again (ksub --cron)
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct client;
struct error;
struct json;
struct submission;

/* The CronJob whose Jobs are that one. Its name is the job's with letters drawn
 * at random; its times are those of this machine's clock.
 */
struct json *cron_submit_manifest(const struct submission *submission,
                                  const struct json *job,
                                  struct arena *arena);

/* Sends it, and prints its name and next time. */
int cron_submit_run(const struct submission *submission,
                    struct client *client,
                    const struct json *manifest,
                    struct error *err);
