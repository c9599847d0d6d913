/* SPDX-License-Identifier: Apache-2.0 */
/* choices.h - the options of ksub: one table for the command line, the
 * directives of a script and the environment
 *
 * Each sets a member of struct submission, and refuses what cannot be right
 * in words that go behind the option's name.
 */
#pragma once

#include "lib/program/option.h"

extern const struct option_table choices;
