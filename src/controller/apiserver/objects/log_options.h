/* SPDX-License-Identifier: Apache-2.0 */
/* log_options.h - the options of a request for pods/NAME/log, as its agent gets
 * them
 *
 * The words of kubectl logs (follow, tailLines, sinceTime, ...), checked as
 * upstream checks them.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdbool.h>

struct json;
struct pod;
struct request;

/* The pod whose output is meant, and the words to its agent; NULL, and the
 * reply is made. With `previous` it is the pod of the attempt before.
 */
const struct pod *log_options_read(struct request *q, struct json *words);

/* The options alone: false, and the reply is made. */
bool log_options_add(struct request *q, struct json *words);
