/* SPDX-License-Identifier: Apache-2.0 */
/* outage_notice.h - tells a waiting user that the controller does not answer
 *
 * An informer survives a restart of the controller by itself. After three
 * seconds without the controller the user gets one line, and another when it answers
 * again.
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct informer;
struct loop;
struct outage_notice;

/* Life. The line starts with `program`, such as "kctl: wait". All are borrowed.
 */
void outage_notice_free(struct outage_notice *outage);
struct outage_notice *outage_notice_new(struct loop *loop, const struct informer *informer,
                                        const char *program) OWNED_BY(outage_notice_free);
