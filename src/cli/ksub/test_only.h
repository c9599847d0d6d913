/* SPDX-License-Identifier: Apache-2.0 */
/* test_only.h - ksub --test-only: prints the job, and when and where it could
 * start at the earliest
 *
 * Thread: the main one.
 */
#pragma once

struct arena;
struct client;
struct error;
struct json;
struct submission;

/* Call this after the controller has checked the manifest. If no node can ever
 * run the job, that is an error: -ENODEV, with the nearest node.
 */
int test_only_print(const struct submission *submission, struct client *client,
                    const struct json *manifest, struct error *err);

/* Asks the scheduler how it would place the job; the answer is in the arena ("start.chance",
 * "start.node", "start.from", "start.message", "cause.message").
 */
int test_only_ask(const struct submission *submission, struct client *client,
                  const struct json *manifest, struct arena *arena, const struct json **ret_why,
                  struct error *err);
