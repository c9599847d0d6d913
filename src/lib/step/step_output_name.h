/* SPDX-License-Identifier: Apache-2.0 */
/* step_output_name.h - the files that --input, --output and --error of a step name
 *
 *   %j job  %J job.step  %s step  %A array's job  %a task of the array  %x name
 *   %u user  %N node  %n index of the node in the step  %t task  %% a percent sign
 *
 * A number pads another number with zeros: %3t. A pattern with a backslash is a plain
 * name (the backslashes are removed). Unlike in the output of a job, a slash in a value
 * becomes an underscore.
 *
 * Thread:  any; pure.
 * Source:  srun(1) of Slurm 22.05, "filename pattern".
 */
#pragma once

struct error;
struct strbuf;

/* How many files a pattern means. */
enum step_output_scope {
    STEP_OUTPUT_ONE, /* one for the step */
    STEP_OUTPUT_NODE,
    STEP_OUTPUT_TASK,
};

struct step_output_values {
    const char *job_id, *job_name, *user;
    const char *array_job_id, *array_task_id; /* NULL: the job is no task of an array */
    const char *step_id;
    const char *node;
    unsigned node_index, task;
};

enum step_output_scope step_output_name_scope(const char *pattern);

/* -EINVAL: a letter that has no meaning here, which would be kept by mistake. */
int step_output_name_check(const char *pattern, struct error *err);

void step_output_name_expand(const char *pattern, const struct step_output_values *values,
                             struct strbuf *out);
