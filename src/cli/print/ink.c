/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/ink.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/macro.h"

const char ink_end[] = "\033[0m";

bool
ink_is_wanted(void)
{
    const char *terminal = getenv("TERM");
    const char *refused = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && terminal != NULL
           && strcmp(terminal, "dumb") != 0
           && (refused == NULL || refused[0] == '\0');
}

const char *
ink_start(enum ink ink)
{
    static const char *const sequences[] = {
        [INK_PLAIN] = "",
        [INK_BOLD] = "\033[1m",
        [INK_DIM] = "\033[2m",
        [INK_RED] = "\033[31m",
        [INK_GREEN] = "\033[32m",
        [INK_YELLOW] = "\033[33m",
        [INK_BLUE] = "\033[34m",
        [INK_MAGENTA] = "\033[35m",
        [INK_CYAN] = "\033[36m",
    };

    return sequences[ink];
}

/* A state may go on behind a comma: "Ready,SchedulingDisabled". */
enum ink
ink_of_state(const char *word)
{
    static const struct {
        const char *word;
        enum ink ink;
    } states[] = {
        {"Active", INK_GREEN},     {"Bound", INK_GREEN},
        {"Complete", INK_GREEN},   {"Completed", INK_GREEN},
        {"Ready", INK_GREEN},      {"Running", INK_GREEN},
        {"Succeeded", INK_GREEN},  {"Cancelled", INK_RED},
        {"Error", INK_RED},        {"Evicted", INK_RED},
        {"Failed", INK_RED},       {"NotReady", INK_RED},
        {"OOMKilled", INK_RED},    {"Warning", INK_RED},
        {"Held", INK_YELLOW},      {"Pending", INK_YELLOW},
        {"Suspended", INK_YELLOW}, {"Terminating", INK_YELLOW},
        {"Unknown", INK_YELLOW},
    };
    const size_t length = strcspn(word, ",");

    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strlen(states[i].word) == length
            && strncmp(states[i].word, word, length) == 0)
            return word[length] == '\0' ? states[i].ink : INK_YELLOW;
    return INK_PLAIN;
}
