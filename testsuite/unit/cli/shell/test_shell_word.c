/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shell/shell_word.h"

#include <check.h>
#include <string.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(a_shell_is_told_from_other_interpreters)
{
    static const struct {
        const char *script;
        bool is_shell;
    } cases[] = {
        {"#!/bin/sh\n", true},
        {"#! /usr/local/bin/bash -l\n", true},
        {"#!/usr/bin/env bash", true},
        {"#!/usr/bin/env -S A=1 zsh -f\n", true},
        {"#!/usr/bin/env python3\n", false},
        {"#!/usr/bin/perl\n", false},
        {"#!/usr/bin/env\n", false},
        {"echo\n", false},
        {"", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_msg(shell_word_is_of_shell(cases[i].script, strlen(cases[i].script))
                          == cases[i].is_shell,
                      "%s", cases[i].script);
}
END_TEST

SUITE("shell_word", a_shell_is_told_from_other_interpreters)
