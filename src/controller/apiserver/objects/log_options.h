/* SPDX-License-Identifier: Apache-2.0 */
/* log_options.h - the options of a request for pods/NAME/log, for its agent
 *
 * They are those of kubectl logs (follow, tailLines, sinceTime, ...), checked
 * as upstream checks them.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdbool.h>

struct json;
struct pod;
struct request;

/* The pod whose output the request asks for, and the request to its agent in
 * `words`. With `previous` it is the pod of the previous attempt. Returns NULL
 * when the reply is made.
 */
const struct pod *log_options_read(struct request *q, struct json *words);

/* Adds only the options. Returns false when the reply is made. */
bool log_options_add(struct request *q, struct json *words);

/* Once `words` has pod and uid: makes it a request for the standard error, if
 * the options ask for it. An agent that does not know such requests finds no
 * pod and says so, instead of showing the standard output.
 */
void log_options_choose_stream(const struct request *q, struct json *words);
