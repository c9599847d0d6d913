/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_submit.h - submits several jobs in one request: --pipeline, --chain
 *
 * Each stage is read like the command line of a separate ksub, with the options
 * of this command line before the stage's own. All problems of all stages are
 * reported at once, and if there is one, nothing is submitted. The request has
 * a key, so that it can be retried until there is an answer and is executed
 * once.
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct submission_input;

/* `common` has the options of the command line, whose operands start at
 * common->operands. Mistakes in the stages are printed to standard error, and
 * set *ret_status to the exit status. The caller prints the error in `err`.
 */
int pipeline_submit_run(struct submission_input *common, int argc, char **argv, int *ret_status,
                        struct error *err);
