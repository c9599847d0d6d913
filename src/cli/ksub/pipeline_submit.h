/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_submit.h - submits several jobs by one request: --pipeline, --chain
 *
 * Each stage is read as the command line of its own ksub would be, with the
 * options of this one before its own; all of their problems are told at once,
 * and nothing is submitted when there is one. The request has a key, so that it
 * is sent again until there is an answer, and done once.
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct submission_input;

/* `common` has the options of the command line, whose operands begin at
 * common->operands. Mistakes in the stages are printed on standard error, and
 * *ret_status is the exit status then. Errors are told by the caller.
 */
int pipeline_submit_run(struct submission_input *common,
                        int argc,
                        char **argv,
                        int *ret_status,
                        struct error *err);
