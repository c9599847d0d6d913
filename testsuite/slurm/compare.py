# SPDX-License-Identifier: Apache-2.0
"""compare.py normalize VARIABLES DIRECTORY < PLAYED
   compare.py judge GOLDEN PLAYED DIFFERENCES

normalize replaces what differs from run to run in the output of `play`: ids of
jobs by @NAME@, times by T, short lengths of time by E, the host, and the
directory of the test.

judge compares two such outputs, field by field, and prints a line for each
command line: "same COMMAND", "listed COMMAND" or "differs COMMAND", below the
last the fields with both values. DIFFERENCES has a line "COMMAND ~ FIELD ~
REASON" for each difference that is meant, the first two as patterns of the
shell; FIELD can also be the two values, "SLURM => KILN". "? " before it: the
difference comes and goes. Another entry that no difference needs is printed as "unused ENTRY": the list
may only shrink.
"""
import difflib
import fnmatch
import json
import re
import socket
import sys


# ---- What differs from run to run ----

def normalize(variables, directory):
    ids = {}
    for line in open(variables, encoding="utf-8"):
        name, _, value = line.strip().partition("=")
        if value.isdigit() and name != "settle_s":
            ids.setdefault(value, f"@{name}@")
    number = re.compile(r"(?<![\w.])(" + "|".join(sorted(ids, key=len, reverse=True)) +
                        r")(?=_|\b(?!\.\d))")
    other = re.compile(r"(?<![\w.])4[01]\d\d(?=_|\b)")
    host = re.compile(r"\b" + re.escape(socket.gethostname().split(".")[0]) + r"\b")
    point = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\b")
    epoch = re.compile(r"\b1[789]\d{8}\b")
    # Lengths of time below ten minutes. The limits of the jobs are longer.
    length = re.compile(r"(?<![\d:T-])(00:0\d:\d\d(\.\d+)?|00:\d\d\.\d+|0?\d:\d\d)(?![:\d])")
    for line in sys.stdin:
        line = line.rstrip("\n")
        if not line.startswith("$"):
            mark, text = line[:2], line[2:]
            text = text.replace(directory, "@dir@")
            text = point.sub("T", text)
            text = epoch.sub("T", text)
            text = length.sub("E", text)
            text = number.sub(lambda m: ids[m.group(1)], text)
            text = other.sub("@other@", text)
            text = host.sub("@host@", text)
            line = mark + text
        print(line)


# ---- Fields ----

def read_blocks(path):
    blocks, block = {}, None
    for line in open(path, encoding="utf-8", errors="surrogateescape", newline="\n"):
        line = line.rstrip("\n")
        if line.startswith("$ "):
            block = {"out": [], "err": [], "status": None}
            command = line[2:]
            while command in blocks:  # the same line again, later
                command += " "
            blocks[command] = block
        elif line.startswith("| "):
            block["out"].append(line[2:])
        elif line.startswith("! "):
            block["err"].append(line[2:])
        elif line.startswith("= "):
            block["status"] = line[2:]
        elif block is not None and not line.startswith("#"):
            block["out"].append(line)
    return blocks


def flatten(tree, path, fields):
    if isinstance(tree, dict):
        if not tree:
            fields.append((path, "{}"))
        for name, value in tree.items():
            flatten(value, f"{path}.{name}", fields)
    elif isinstance(tree, list):
        if not tree:
            fields.append((path, "[]"))
        for i, value in enumerate(tree):
            flatten(value, f"{path}.{i}", fields)
    else:
        fields.append((path, json.dumps(tree, ensure_ascii=False)))


PAIR = re.compile(r"(?:^|\s+)([A-Za-z][A-Za-z0-9_:/-]*)=")


def pairs(lines, fields):
    """Key=value; a record begins with the key of the first."""
    first, record, order = None, 0, []
    for line in lines:
        found = list(PAIR.finditer(line))
        if not found:
            if line.strip():
                fields.append(("text", line))
            continue
        for i, m in enumerate(found):
            end = found[i + 1].start() if i + 1 < len(found) else len(line)
            key = m.group(1)
            first = first or key
            if key == first:
                record += 1
                order = []
                fields.append([f"{record}.keys", order])
            order.append(key)
            fields.append((f"{record}.{key}", line[m.end():end].rstrip(" ")))


def fields_of(command, block):
    fields = []
    text = "\n".join(block["out"])
    if text.startswith("{"):
        try:
            flatten(json.loads(re.sub(r"(?<=[:\[,] )([TE]|@\w+@)(?=,?$)", r'"\1"', text,
                                      flags=re.M)), "", fields)
        except json.JSONDecodeError as e:
            fields.append(("json", f"{e}: {text[:100]}"))
    elif re.search(r"scontrol .*show", command) and PAIR.search(text):
        pairs(block["out"], fields)
    else:
        return None
    return {name: " ".join(value) if isinstance(value, list) else value for name, value in fields}


def compare_lines(name, want, got):
    """Lines that only one has stand alone; a run of lines in both is compared one by one."""
    for _, a, a_end, b, b_end in difflib.SequenceMatcher(None, want, got, False).get_opcodes():
        for i in range(max(a_end - a, b_end - b)):
            left = want[a + i] if a + i < a_end else None
            right = got[b + i] if b + i < b_end else None
            if left != right:
                yield name, left, right


def compare_blocks(command, want, got):
    a, b = fields_of(command, want), fields_of(command, got)
    if a is None or b is None:
        yield from compare_lines("line", want["out"], got["out"])
    else:
        for field in list(a) + [f for f in b if f not in a]:
            if a.get(field) != b.get(field):
                yield field, a.get(field), b.get(field)
    yield from compare_lines("error", want["err"], got["err"])
    if want["status"] != got["status"]:
        yield "status", want["status"], got["status"]


# ---- Judging ----

def read_differences(path):
    entries = []
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            command, field, reason = (part.strip() for part in line.split(" ~ ", 2))
            entries.append({"line": line.strip(), "command": command.removeprefix("? "),
                            "field": field, "reason": reason,
                            "used": int(command.startswith("? "))})
    return entries


def is_like(pattern, text):
    # The texts have brackets of their own: only * and ? are special in a pattern.
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))


def find_entry(entries, command, field, values):
    for entry in entries:
        if is_like(entry["command"], command) and (
                is_like(entry["field"], field) or
                " => " in entry["field"] and is_like(entry["field"], values)):
            return entry
    return None


def judge(golden_path, played_path, differences_path):
    golden, played = read_blocks(golden_path), read_blocks(played_path)
    entries = read_differences(differences_path)
    count = 0
    for command, block in played.items():
        if command not in golden:
            print(f"differs {command}\n    Slurm's answer is not recorded")
            continue
        unlisted, listed = [], 0
        for field, a, b in compare_blocks(command, golden[command], block):
            entry = find_entry(entries, command, field, f"{a or ''} => {b or ''}")
            if entry:
                entry["used"] += 1
                listed += 1
            else:
                unlisted.append((field, a, b))
        count += listed
        print(("differs" if unlisted else "listed" if listed else "same") + " " + command)
        for field, a, b in unlisted:
            print(f"    {field}: Slurm {a!r}\n    {' ' * len(field)}   Kiln {b!r}")
    for entry in entries:
        if not entry["used"]:
            print(f"unused {entry['line']}")
    print(f"# {len(played)} command lines, {count} listed differences in {len(entries)} entries")


if sys.argv[1] == "normalize":
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    normalize(sys.argv[2], sys.argv[3])
else:
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    judge(*sys.argv[2:5])
