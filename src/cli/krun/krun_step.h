/* SPDX-License-Identifier: Apache-2.0 */
/* krun_step.h - one step from krun's side: what it does about the output and the ends of
 * its tasks, about signals, and about time
 *
 * Thread:  the main one.
 */
#pragma once

struct krun_settings;

/* Runs the step of settings->request until it has ended, and prints what went wrong.
 * The exit status.
 */
int krun_step_run(const struct krun_settings *settings);
