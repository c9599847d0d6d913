/* SPDX-License-Identifier: Apache-2.0 */
/* drmaa_template.h - the attributes of a job template
 *
 * Thread: any, each template by one at a time.
 */
#pragma once

#include "cli/drmaa/drmaa_words.h"

enum scalar {
    SCALAR_REMOTE_COMMAND,
    SCALAR_JS_STATE,
    SCALAR_WD,
    SCALAR_NATIVE_SPECIFICATION,
    SCALAR_BLOCK_EMAIL,
    SCALAR_START_TIME,
    SCALAR_JOB_NAME,
    SCALAR_INPUT_PATH,
    SCALAR_OUTPUT_PATH,
    SCALAR_ERROR_PATH,
    SCALAR_JOIN_FILES,
    SCALAR_DEADLINE_TIME,
    SCALAR_WCT_HLIMIT,
    SCALAR_DURATION_HLIMIT,
    SCALAR_COUNT,
};

enum vector {
    VECTOR_ARGV,
    VECTOR_ENV,
    VECTOR_EMAIL,
    VECTOR_COUNT,
};

struct drmaa_job_template_s {
    char *scalar[SCALAR_COUNT]; /* NULL: not set */
    struct drmaa_words vector[VECTOR_COUNT];
    bool has_vector[VECTOR_COUNT];
};
