/* SPDX-License-Identifier: Apache-2.0 */
/* krun_mpi.h - srun's option --mpi: how the tasks of an MPI program find each other
 *
 * Thread:  the main one.
 */
#pragma once

struct arena;
struct error;
struct krun_settings;
struct option_spec;

/* For the table of options. */
int krun_mpi_set(const struct option_spec *option, const char *value, void *settings,
                 struct error *err);

/* Prints what --mpi may be, for --mpi=list. */
void krun_mpi_print(const char *program);

/* Before the request is sent: the secret of its tasks. */
void krun_mpi_complete(struct arena *arena, struct krun_settings *settings);
