/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define LAUNCH_EXIT_CODE 125 /* of Kiln */
#define LAUNCH_SIGNAL    53  /* of Slurm */

/* A job that was requeued waits like any other; Slurm's REQUEUED is only shown
 * while the former run ends.
 */
const char *
slurm_words_state(enum job_state state, bool is_compact)
{
    const struct job_state_words *words;

    if (state == JOB_STATE_NONE || job_state_words(state)->class == JOB_STATE_WAITS)
        state = state == JOB_STATE_STARTING ? state : JOB_STATE_PENDING;
    words = job_state_words(state);
    return is_compact ? words->code : words->long_code;
}

const char *
slurm_words_reason(const char *code)
{
    /* Reasons that are spelt otherwise in Slurm, or are none there. */
    static const struct {
        const char *kiln, *slurm;
    } others[] = {
        {"Cancelled", "None"},
        {"Evicted", "None"},
        {"NotAllowed", "InvalidAccount"},
        {"Other", "None"},
        {"PartitionLimit", "PartitionConfig"},
        {"PodDeleted", "None"},
        {"Preempted", "None"},
        {"ReservedNodes", "ReqNodeNotAvail"},
        {"SchedulingGated", "JobHeldUser"},
        {"StartBlocked", "Prolog"},
        {"Storage", "Resources"},
        {"Suspended", "JobHeldUser"},
    };

    if (code == NULL || code[0] == '\0')
        return "None";
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(others[i].kiln, code) == 0)
            return others[i].slurm;
    return code;
}

void
slurm_words_take_exit(const char *reason, int64_t *exit_code, int64_t *signal)
{
    if (*signal != 0 || *exit_code != LAUNCH_EXIT_CODE || strcmp(reason, "JobLaunchFailure") != 0)
        return;
    *exit_code = 0;
    *signal = LAUNCH_SIGNAL;
}

const char slurm_words_valid_states[] =
    "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,"
    "DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,"
    "REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";

/* Slurm's states that no job of Kiln is ever in. */
static bool
is_never(const char *word)
{
    static const char *const never[] = {
        "BF", "BOOT_FAIL", "RD",           "RESV_DEL_HOLD", "RF", "REQUEUE_FED",
        "RH", "RS",        "REQUEUE_HOLD", "RESIZING",      "RV", "REVOKED",
        "SE", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT",     "SO", "STOPPED",
        "SI", "ST",
    };

    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        if (strcasecmp(word, never[i]) == 0)
            return true;
    return false;
}

static uint32_t
states_of(const char *word)
{
    uint32_t set = 0;

    for (unsigned i = JOB_STATE_PENDING; i < JOB_STATE_COUNT; i++) {
        const struct job_state_words *s = job_state_words((enum job_state)i);

        if (strcasecmp(word, slurm_words_state((enum job_state)i, true)) == 0
            || strcasecmp(word, slurm_words_state((enum job_state)i, false)) == 0
            || strcasecmp(word, s->code) == 0 || strcasecmp(word, s->long_code) == 0)
            set |= JOB_STATE_BIT(i);
    }
    return set;
}

bool
slurm_words_parse_states(const char *list, uint32_t *ret_states, const char **ret_bad)
{
    uint32_t set = 0;

    for (size_t length; *list != '\0'; list += length + (list[length] == ',')) {
        char word[32];
        uint32_t states;

        length = strcspn(list, ",");
        if (length == 0)
            continue;
        (void)snprintf(word, sizeof(word), "%.*s", (int)(length < 31 ? length : 31), list);
        states =
            strcasecmp(word, "all") == 0 ? JOB_STATES_ACTIVE | JOB_STATES_ENDED : states_of(word);
        if (states == 0 && !is_never(word)) {
            *ret_bad = list;
            return false;
        }
        set |= states;
    }
    *ret_states = set;
    return true;
}

const char *
slurm_words_parse_accounted_states(const char *list, uint32_t *ret_states, struct arena *arena)
{
    static const char *const passing[] = {
        "CF",
        "CG",
        "COMPLETING",
        "CONFIGURING",
        "RD",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RF",
        "RH",
        "SE",
        "RESV_DEL_HOLD",
        "SIGNALING",
        "SI",
        "SO",
        "ST",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
    };
    uint32_t set = 0, states = 0;
    const char *bad;

    for (size_t length; *list != '\0'; list += length + (list[length] == ',')) {
        const char *word;

        length = strcspn(list, ",");
        word = arena_strndup(arena, list, length);
        for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
            if (strcasecmp(word, passing[i]) == 0)
                return arena_printf(arena, "job state %s is not supported / accounted", word);
        if (strcasecmp(word, "all") == 0 || !slurm_words_parse_states(word, &states, &bad))
            return arena_printf(arena, "unrecognized job state value '%s'", word);
        set |= states;
    }
    *ret_states = set;
    return NULL;
}

/* ---- Amounts ---- */

static const char units[] = "KMGTPE";

/* An amount stays in the smaller unit unless it is a whole number of the larger
 * one, and is never below a mebibyte: 2048M is 2G, and 1500M stays.
 */
void
slurm_words_add_memory(int64_t bytes, char unit, struct strbuf *out)
{
    int64_t n = (bytes + (1 << 20) - 1) >> 20;
    int at = 1;

    if (bytes <= 0) {
        strbuf_add_char(out, '0');
        return;
    }
    if (unit != 0) {
        slurm_words_add_usage(bytes, unit, out);
        return;
    }
    for (; n % 1024 == 0 && units[at + 1] != '\0'; n /= 1024)
        at++;
    strbuf_printf(out, "%" PRId64 "%c", n, units[at]);
}

void
slurm_words_add_usage(int64_t bytes, char unit, struct strbuf *out)
{
    double n = (double)bytes / 1024;
    int at = 0;

    if (bytes <= 0) {
        strbuf_add_char(out, '0');
        return;
    }
    if (unit == 0) {
        int64_t whole = (bytes + 1023) / 1024;

        for (; whole % 1024 == 0 && units[at + 1] != '\0'; whole /= 1024)
            at++;
        strbuf_printf(out, "%" PRId64 "%c", whole, units[at]);
        return;
    }
    for (; units[at] != '\0' && units[at] != unit; at++)
        n /= 1024;
    if (fabs(n - round(n)) < 0.005)
        strbuf_printf(out, "%.0f%c", n, unit);
    else
        strbuf_printf(out, "%.2f%c", n, unit);
}

void
slurm_words_add_tres(const struct slurm_tres *tres, struct strbuf *out)
{
    if (tres->cpus == 0 && tres->bytes == 0 && tres->gpus == 0)
        return;
    strbuf_printf(out, "cpu=%" PRId64, tres->cpus);
    if (tres->bytes > 0) {
        strbuf_add_text(out, ",mem=");
        slurm_words_add_memory(tres->bytes, 0, out);
    }
    if (tres->nodes > 0)
        strbuf_printf(out, ",node=%" PRId64, tres->nodes);
    if (tres->has_billing)
        strbuf_printf(out, ",billing=%" PRId64, tres->cpus);
    if (tres->gpus > 0)
        strbuf_printf(out, ",gres/gpu=%" PRId64, tres->gpus);
}

/* ---- Steps ---- */

/* A level of "block:cyclic,Pack", or 0: it is not there, or "*". */
static char
take_level(const char **text)
{
    const size_t length = strcspn(*text, ":,=");
    const char letter = (char)((*text)[0] & ~0x20);

    if (length == 0 || (*text)[0] == '*')
        return '\0';
    *text += length;
    *text += **text == ':';
    return letter;
}

static const char *
level_word(char letter)
{
    return letter == 'C' ? "Cyclic" : letter == 'F' ? "FCyclic" : "Block";
}

/* Over nodes alone it is a word, else a letter before those of the levels below. */
void
slurm_words_add_layout(const char *distribution, int64_t tasks, int64_t nodes, struct strbuf *out)
{
    const char *rest = distribution != NULL ? distribution : "";
    char level = take_level(&rest);
    bool is_first = true;

    if (level == 'P') {
        strbuf_add_text(out, "Plane");
        return;
    }
    if (level == '\0') {
        level = tasks <= nodes ? 'C' : 'B';
        rest += *rest == '*';
        rest += *rest == ':';
    }
    for (char below; (below = take_level(&rest)) != '\0'; is_first = false) {
        if (is_first)
            strbuf_add_char(out, level);
        strbuf_add_text(out, level_word(below));
    }
    if (is_first)
        strbuf_add_text(out, level_word(level));
}
