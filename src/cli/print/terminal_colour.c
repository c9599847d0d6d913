/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/terminal_colour.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/terminal.h"
#include "lib/api/job/job_state.h"
#include "lib/base/macro.h"

const char terminal_colour_end[] = "\033[0m";

static bool
is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

bool
terminal_colour_is_wanted(void)
{
    const char *terminal = getenv("TERM");

    if (is_set("NO_COLOR"))
        return false;
    if (is_set("CLICOLOR_FORCE") && strcmp(getenv("CLICOLOR_FORCE"), "0") != 0)
        return true;
    return terminal_is_output() && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

int
terminal_colour_set(const char *when)
{
    if (strcmp(when, "always") == 0) {
        unsetenv("NO_COLOR");
        setenv("CLICOLOR_FORCE", "1", 1);
    } else if (strcmp(when, "never") == 0)
        setenv("NO_COLOR", "1", 1);
    else if (strcmp(when, "auto") != 0)
        return -EINVAL;
    return 0;
}

const char *
terminal_colour_start(enum terminal_colour colour)
{
    static const char *const sequences[] = {
        [COLOUR_PLAIN] = "",        [COLOUR_BOLD] = "\033[1m",     [COLOUR_DIM] = "\033[2m",
        [COLOUR_RED] = "\033[31m",  [COLOUR_GREEN] = "\033[32m",   [COLOUR_YELLOW] = "\033[33m",
        [COLOUR_BLUE] = "\033[34m", [COLOUR_MAGENTA] = "\033[35m", [COLOUR_CYAN] = "\033[36m",
    };

    return sequences[colour];
}

/* The colour of a job's state; plain if the word is no state. */
static enum terminal_colour
colour_of_job_state(const char *word)
{
    static const enum terminal_colour colours[] = {
        [JOB_STATE_WAITS] = COLOUR_YELLOW,    [JOB_STATE_RUNS] = COLOUR_GREEN,
        [JOB_STATE_GOOD_END] = COLOUR_GREEN,  [JOB_STATE_BAD_END] = COLOUR_RED,
        [JOB_STATE_STOPPED] = COLOUR_MAGENTA,
    };
    enum job_state state = job_state_of_name(word);

    return state != JOB_STATE_NONE ? colours[job_state_words(state)->class] : COLOUR_PLAIN;
}

/* A comma may follow the state: "Ready,SchedulingDisabled". */
enum terminal_colour
terminal_colour_of_state(const char *word)
{
    static const struct {
        const char *word;
        enum terminal_colour colour;
    } states[] = {
        {"Active", COLOUR_GREEN},       {"Bound", COLOUR_GREEN},     {"Complete", COLOUR_GREEN},
        {"Ready", COLOUR_GREEN},        {"Succeeded", COLOUR_GREEN}, {"Error", COLOUR_RED},
        {"Evicted", COLOUR_RED},        {"NotReady", COLOUR_RED},    {"OOMKilled", COLOUR_RED},
        {"Warning", COLOUR_RED},        {"Frozen", COLOUR_YELLOW},   {"Suspended", COLOUR_YELLOW},
        {"Terminating", COLOUR_YELLOW}, {"Unknown", COLOUR_YELLOW},
    };
    const size_t length = strcspn(word, ",");

    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strlen(states[i].word) == length && strncmp(states[i].word, word, length) == 0)
            return word[length] == '\0' ? states[i].colour : COLOUR_YELLOW;
    return colour_of_job_state(word);
}
