/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/drmaa/drmaa_template.h"
#include "cli/drmaa/drmaa.h"
#include "cli/drmaa/drmaa_session.h"
#include "cli/drmaa/drmaa_time.h"

#include <stdlib.h>
#include <string.h>

static const char *const SCALARS[SCALAR_COUNT] = {
    [SCALAR_REMOTE_COMMAND] = DRMAA_REMOTE_COMMAND,
    [SCALAR_JS_STATE] = DRMAA_JS_STATE,
    [SCALAR_WD] = DRMAA_WD,
    [SCALAR_NATIVE_SPECIFICATION] = DRMAA_NATIVE_SPECIFICATION,
    [SCALAR_BLOCK_EMAIL] = DRMAA_BLOCK_EMAIL,
    [SCALAR_START_TIME] = DRMAA_START_TIME,
    [SCALAR_JOB_NAME] = DRMAA_JOB_NAME,
    [SCALAR_INPUT_PATH] = DRMAA_INPUT_PATH,
    [SCALAR_OUTPUT_PATH] = DRMAA_OUTPUT_PATH,
    [SCALAR_ERROR_PATH] = DRMAA_ERROR_PATH,
    [SCALAR_JOIN_FILES] = DRMAA_JOIN_FILES,
    [SCALAR_DEADLINE_TIME] = DRMAA_DEADLINE_TIME,
    [SCALAR_WCT_HLIMIT] = DRMAA_WCT_HLIMIT,
    [SCALAR_DURATION_HLIMIT] = DRMAA_DURATION_HLIMIT,
};
static const char *const VECTORS[VECTOR_COUNT] = {
    [VECTOR_ARGV] = DRMAA_V_ARGV,
    [VECTOR_ENV] = DRMAA_V_ENV,
    [VECTOR_EMAIL] = DRMAA_V_EMAIL,
};

/* Attributes of the specification that Kiln has nothing for, and what to do instead. */
static const struct {
    const char *name, *advice;
} REFUSED[] = {
    {DRMAA_JOB_CATEGORY,
     "Kiln has no job categories; write ksub's options into " DRMAA_NATIVE_SPECIFICATION},
    {DRMAA_TRANSFER_FILES, "Kiln transfers no files; jobs need a file system that all nodes share"},
    {DRMAA_WCT_SLIMIT, "Kiln has no soft limits; --signal in " DRMAA_NATIVE_SPECIFICATION
                       " warns the job before its limit"},
    {DRMAA_DURATION_SLIMIT, "Kiln has no soft limits; --signal in " DRMAA_NATIVE_SPECIFICATION
                            " warns the job before its limit"},
    {"drmaa_duration_slimit", "Kiln has no soft limits; --signal in " DRMAA_NATIVE_SPECIFICATION
                              " warns the job before its limit"},
};

static int
find_name(const char *const *names, int count, const char *name)
{
    /* The name in python3-drmaa. */
    if (strcmp(name, "drmaa_duration_hlimit") == 0)
        name = DRMAA_DURATION_HLIMIT;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static int
unknown(const char *name, char *diagnosis, size_t size)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        if (strcmp(REFUSED[i].name, name) == 0)
            return diagnose(diagnosis, size, DRMAA_ERRNO_INVALID_ARGUMENT, "%s: %s", name,
                            REFUSED[i].advice);
    return diagnose(diagnosis, size, DRMAA_ERRNO_INVALID_ARGUMENT,
                    "'%s' is not an attribute of this kind", name);
}

static bool
is_one_of(const char *value, const char *a, const char *b)
{
    return strcmp(value, a) == 0 || strcmp(value, b) == 0;
}

/* Judges a value as far as that goes without the other attributes. */
static int
check_value(enum scalar scalar, const char *value, char *diagnosis, size_t size)
{
    int64_t number;
    const char *wanted = NULL;
    int code = DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT;
    switch (scalar) {
    case SCALAR_JS_STATE:
        if (!is_one_of(value, DRMAA_SUBMISSION_STATE_ACTIVE, DRMAA_SUBMISSION_STATE_HOLD))
            wanted = "drmaa_active or drmaa_hold", code = DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE;
        break;
    case SCALAR_BLOCK_EMAIL:
        if (!is_one_of(value, "0", "1"))
            wanted = "0 or 1";
        break;
    case SCALAR_JOIN_FILES:
        if (!is_one_of(value, "y", "n"))
            wanted = "y or n";
        break;
    case SCALAR_START_TIME:
    case SCALAR_DEADLINE_TIME:
        if (!time_parse(value, time_now(), &number))
            wanted = "a time: [[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu]";
        break;
    case SCALAR_WCT_HLIMIT:
    case SCALAR_DURATION_HLIMIT:
        if (!duration_parse(value, &number))
            wanted = "a time: [[h:]m:]s, more than 0";
        break;
    case SCALAR_INPUT_PATH:
    case SCALAR_OUTPUT_PATH:
    case SCALAR_ERROR_PATH:
        if (strchr(value, ':') == NULL)
            wanted = "[HOST]:PATH";
        break;
    default:
        break;
    }
    return wanted == NULL ? DRMAA_ERRNO_SUCCESS
                          : diagnose(diagnosis, size, code, "%s: '%s' is not %s", SCALARS[scalar],
                                     value, wanted);
}

DRMAA_EXPORT int
drmaa_allocate_job_template(drmaa_job_template_t **jt, char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jt == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    *jt = calloc(1, sizeof **jt);
    return *jt != NULL ? DRMAA_ERRNO_SUCCESS
                       : diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
}

DRMAA_EXPORT int
drmaa_delete_job_template(drmaa_job_template_t *jt, char *error_diagnosis, size_t error_diag_len)
{
    if (jt == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    for (int i = 0; i < SCALAR_COUNT; i++)
        free(jt->scalar[i]);
    for (int i = 0; i < VECTOR_COUNT; i++)
        words_clear(&jt->vector[i]);
    free(jt);
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_set_attribute(drmaa_job_template_t *jt, const char *name, const char *value,
                    char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jt == NULL || name == NULL || value == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    int i = find_name(SCALARS, SCALAR_COUNT, name);
    if (i < 0)
        return unknown(name, error_diagnosis, error_diag_len);
    code = check_value((enum scalar)i, value, error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    char *copy = strdup(value);
    if (copy == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    free(jt->scalar[i]);
    jt->scalar[i] = copy;
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_get_attribute(drmaa_job_template_t *jt, const char *name, char *value, size_t value_len,
                    char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jt == NULL || name == NULL || value == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    int i = find_name(SCALARS, SCALAR_COUNT, name);
    if (i < 0)
        return unknown(name, error_diagnosis, error_diag_len);
    if (jt->scalar[i] == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE,
                        "%s is not set", name);
    put_text(value, value_len, jt->scalar[i]);
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_set_vector_attribute(drmaa_job_template_t *jt, const char *name, const char *value[],
                           char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jt == NULL || name == NULL || value == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    int i = find_name(VECTORS, VECTOR_COUNT, name);
    if (i < 0)
        return unknown(name, error_diagnosis, error_diag_len);
    struct drmaa_words words = {};
    for (; *value != NULL; value++) {
        if (i == VECTOR_ENV && (**value == '=' || strchr(*value, '=') == NULL)) {
            words_clear(&words);
            return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT,
                            "%s: '%s' is not NAME=value", name, *value);
        }
        words_add(&words, "%s", *value);
    }
    if (words.is_out_of_memory) {
        words_clear(&words);
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    }
    words_clear(&jt->vector[i]);
    jt->vector[i] = words;
    jt->has_vector[i] = true;
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_get_vector_attribute(drmaa_job_template_t *jt, const char *name, drmaa_attr_values_t **values,
                           char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jt == NULL || name == NULL || values == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    int i = find_name(VECTORS, VECTOR_COUNT, name);
    if (i < 0)
        return unknown(name, error_diagnosis, error_diag_len);
    if (!jt->has_vector[i])
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE,
                        "%s is not set", name);
    drmaa_attr_values_t *list = calloc(1, sizeof *list);
    for (size_t n = 0; list != NULL && n < jt->vector[i].count; n++)
        words_add(&list->words, "%s", jt->vector[i].word[n]);
    if (list == NULL || list->words.is_out_of_memory) {
        drmaa_release_attr_values(list);
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    }
    *values = list;
    return DRMAA_ERRNO_SUCCESS;
}

static int
list_names(const char *const *names, int count, drmaa_attr_names_t **values, char *diagnosis,
           size_t size)
{
    int code = session_check(diagnosis, size);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (values == NULL)
        return diagnose(diagnosis, size, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    drmaa_attr_names_t *list = calloc(1, sizeof *list);
    for (int i = 0; list != NULL && i < count; i++)
        words_add(&list->words, "%s", names[i]);
    if (list == NULL || list->words.is_out_of_memory) {
        drmaa_release_attr_names(list);
        return diagnose(diagnosis, size, DRMAA_ERRNO_NO_MEMORY, NULL);
    }
    *values = list;
    return DRMAA_ERRNO_SUCCESS;
}

DRMAA_EXPORT int
drmaa_get_attribute_names(drmaa_attr_names_t **values, char *error_diagnosis, size_t error_diag_len)
{
    return list_names(SCALARS, SCALAR_COUNT, values, error_diagnosis, error_diag_len);
}

DRMAA_EXPORT int
drmaa_get_vector_attribute_names(drmaa_attr_names_t **values, char *error_diagnosis,
                                 size_t error_diag_len)
{
    return list_names(VECTORS, VECTOR_COUNT, values, error_diagnosis, error_diag_len);
}
