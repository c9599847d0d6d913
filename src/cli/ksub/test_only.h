/* SPDX-License-Identifier: Apache-2.0 */
/* test_only.h - ksub --test-only: the job as it would be, and when and
 * where it could start at best
 *
 * Thread: the main one.
 */
#pragma once

struct client;
struct error;
struct json;
struct submission;

/* After the controller has checked the manifest. That no node can ever run
 * the job is an error: -ENODEV, with the nearest node.
 */
int test_only_print(const struct submission *submission,
                    struct client *client,
                    const struct json *manifest,
                    struct error *err);
