/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_words.h - Slurm's words for Kiln's states and reasons
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_state.h"

struct arena;
struct strbuf;

/* "PENDING", or "PD". */
const char *slurm_words_state(enum job_state state, bool is_compact);

/* The code of Slurm for a reason of kiln-reasons(7); "None" for NULL and for
 * what Slurm has no code for.
 */
const char *slurm_words_reason(const char *code);

/* Of a job that has ended: one that could not be started has the signal 53 in Slurm, and no exit
 * code. `reason` is Slurm's code.
 */
void slurm_words_take_exit(const char *reason, int64_t *exit_code, int64_t *signal);

/* The states that a list such as "PD,running" of -t or -s selects: bits of
 * JOB_STATE_BIT; "all" selects all. Returns false for a word that is no state of Slurm's, which
 * is then at *ret_bad, up to the next comma.
 */
bool slurm_words_parse_states(const char *list, uint32_t *ret_states, const char **ret_bad);

/* The same for sacct, which has no "all", and refuses the states that no job ends or is counted in:
 * returns its message, or NULL.
 */
const char *slurm_words_parse_accounted_states(const char *list, uint32_t *ret_states,
                                               struct arena *arena);

/* "PENDING,RUNNING,...": the words of Slurm's message. */
extern const char slurm_words_valid_states[];

/* "2G", "1500M": memory that was asked for, and "1500K": memory that was used. 0 is "0". The unit
 * is 'K' to 'P', with two decimals if it needs them; 0: the largest unit that needs none.
 */
/* "cpu=8,mem=1G,node=1,billing=8,gres/gpu=2"; what is 0 is left out. */
struct slurm_tres {
    int64_t cpus, bytes, nodes, gpus;
    bool has_billing;
};
void slurm_words_add_tres(const struct slurm_tres *tres, struct strbuf *out);

/* "Block", "CCyclic": how the tasks of a step are distributed; NULL: as Slurm does by itself. */
void slurm_words_add_layout(const char *distribution, int64_t tasks, int64_t nodes,
                            struct strbuf *out);

void slurm_words_add_memory(int64_t bytes, char unit, struct strbuf *out);
void slurm_words_add_usage(int64_t bytes, char unit, struct strbuf *out);
