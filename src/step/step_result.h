/* SPDX-License-Identifier: Apache-2.0 */
/* step_result.h - what the agent is told about the tasks (lib/step/step_figures.h)
 *
 * Thread: the program's only one; the agent may read the figures at any time.
 */
#pragma once

#include <stdint.h>

struct rusage;
struct step_exit;
struct step_figures;
struct step_link;
struct step_result;

struct step_result *step_result_new(struct step_figures *figures);

/* Accept: krun is told that the step is accepted. Begin: the tasks may start. End: all tasks
 * have ended; send tells krun.
 */
void step_result_accept(struct step_result *r, int64_t now_ms);
void step_result_begin(struct step_result *r, unsigned n_tasks);
void step_result_end(struct step_result *r);
void step_result_send(const struct step_result *r, struct step_link *link);

/* Note_signal: krun sends running tasks a signal, perhaps at the time limit (0: it has none).
 * Cancel: somebody else has ended the step.
 */
void step_result_note_signal(struct step_result *r, int64_t time_limit_s, int64_t now_ms);
void step_result_cancel(struct step_result *r);
void step_result_add_exit(struct step_result *r, const struct step_exit *end);
void step_result_add_usage(struct step_result *r, const struct rusage *usage);
void step_result_add_peak(struct step_result *r, uint64_t bytes);
const struct step_figures *step_result_figures(const struct step_result *r);
