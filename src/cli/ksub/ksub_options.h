/* SPDX-License-Identifier: Apache-2.0 */
/* ksub_options.h - the options of ksub: one table for the command line, the
 * directives of a script and the environment
 *
 * Each option sets a member of struct submission. The text of its error follows
 * the option's name.
 *
 * Thread: any.
 */
#pragma once

#include "lib/program/option.h"

extern const struct option_table ksub_options;
