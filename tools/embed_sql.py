#!/usr/bin/env python3
"""Turns the SQL files into C: one enum value, one row and both dialects per named query.

A query starts with `-- name: x` and ends at the next one. Notes right below the name:
  -- moves: job QUEUED -> RUNNING    a move the statement makes; a test checks it by the state table
  -- scans: why                      it may read a whole table; a test refuses that for all others
  -- fleeting: why                   what it writes may be gone after a power loss; a commit with
                                     nothing else is not waited for
  -- invariant: sentence             (verify.sql) a row answered is a violation of this sentence
Dialects: a line that ends in `--sqlite` is for SQLite only, a line that starts with `--postgres:`
for PostgreSQL only, and there INTEGER is BIGINT and a column of TEXT is ordered by its bytes, as
SQLite does it. Everything else is one text for both.
A migration may say `-- compatible: 16`: programs that know version 16 can go on beside it.
copy.sql names the tables that are copied into another store; their statements are made here.
"""
import argparse
import hashlib
import json
import pathlib
import re
import sqlite3

SQLITE, POSTGRES = "sqlite", "postgres"
MADE_BY = "// Made by tools/embed_sql.py from sql/. Do not edit."


def dialect(text, name):
    lines = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("--postgres:"):
            if name == POSTGRES:
                lines.append(stripped[len("--postgres:"):].strip())
            continue
        if stripped.endswith("--sqlite"):
            if name == SQLITE:
                lines.append(line[: line.rindex("--sqlite")].rstrip())
            continue
        line = re.sub(r"--.*", "", line).rstrip()
        if name == POSTGRES:
            line = re.sub(r"\bINTEGER\b", "BIGINT", line)
            line = re.sub(r"^(\s+\w+ TEXT|.*ADD COLUMN \w+ TEXT)\b", r'\1 COLLATE "C"', line)
        if line.strip():
            lines.append(line)
    return "\n".join(lines)


def queries_of(path):
    found, current = [], None
    for line in path.read_text().splitlines():
        note = re.match(r"-- (name|moves|scans|fleeting|invariant): (.*)", line)
        if note and note[1] == "name":
            current = dict(name=note[2].strip(), body=[], moves=[], scans="", fleeting="",
                           invariant="")
            found.append(current)
        elif note and current and not current["body"]:
            key, value = note[1], note[2].strip()
            current[key] = current[key] + [value] if key == "moves" else value
        elif current is not None:
            current["body"].append(line)
    for query in found:
        text = "\n".join(query.pop("body"))
        query[SQLITE] = dialect(text, SQLITE).rstrip().rstrip(";")
        query[POSTGRES] = dialect(text, POSTGRES).rstrip().rstrip(";")
        query["arguments"] = max([int(n) for n in re.findall(r"\$(\d+)", query[SQLITE])] or [0])
    names = [query["name"] for query in found]
    assert len(names) == len(set(names)), f"{path}: a name stands twice"
    return found


def c_text(text):
    lines = (json.dumps(line + "\n", ensure_ascii=False) for line in text.splitlines())
    return "\n        ".join(lines) or '""'


def names_of(paths):
    """(name, kind) of what the migrations make and do not drop again, as SQLite has it."""
    found = {}
    for path in paths:
        text = dialect(path.read_text(), SQLITE)
        for verb, kind, name, new_name in re.findall(
                r"\b(CREATE|DROP|ALTER)\s+(?:UNIQUE\s+)?(TABLE|INDEX|TRIGGER|VIEW)\s+"
                r"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(\w+)(?:\s+RENAME\s+TO\s+(\w+))?", text):
            if verb == "DROP" or new_name:
                found.pop(name)
            if verb == "CREATE" or new_name:
                found[new_name or name] = kind.lower()
    return sorted(found.items())


def compatible_since(path, version):
    """The version from which on older programs go on beside a migration; 0: none does."""
    note = re.search(r"^-- compatible: (\d+)$", path.read_text(), re.M)
    since = int(note[1]) if note else 0
    assert since < version, f"{path}: it is compatible with versions before it, or not at all"
    return since


def tables_of(paths):
    """Each table that the migrations make: its columns (name, type), those of its key first."""
    database = sqlite3.connect(":memory:")
    for path in paths:
        database.executescript(dialect(path.read_text(), SQLITE))
    names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"
                             " AND name NOT LIKE 'sqlite_%'").fetchall()
    found = {}
    for (name,) in names:
        columns = database.execute("SELECT name, type, pk FROM pragma_table_info(?)"
                                   " ORDER BY pk = 0, pk, cid", (name,)).fetchall()
        found[name] = dict(columns=[(f'"{c}"', t) for c, t, _ in columns],
                           keys=sum(1 for c in columns if c[2]),
                           filled=database.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
    return found


def counted_tables(paths):
    """The tables whose ids PostgreSQL gives out."""
    text = "\n".join(dialect(path.read_text(), POSTGRES) for path in paths)
    return {name for name, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", text, re.S)
            if "GENERATED BY DEFAULT AS IDENTITY" in body}


def copy_texts(name, table, counted):
    """The statements with which a table is copied, in PostgreSQL's words, by their verbs."""
    columns, keys = [c for c, _ in table["columns"]], table["keys"]
    key, every = ", ".join(columns[:keys]), ", ".join(columns)
    after, values = (", ".join(f"${i + 1}" for i in range(n)) for n in (keys, len(columns)))
    down = ", ".join(f"{c} DESC" for c in columns[:keys])
    texts = dict(
        count=f"SELECT count(*) FROM {name}",
        read=f"SELECT {every}\n FROM {name} WHERE ({key}) > ({after})\n"
             f" ORDER BY {key} LIMIT ${keys + 1}",
        last=f"SELECT {key} FROM {name} ORDER BY {down} LIMIT 1",
        insert=f"INSERT INTO {name} ({every})\nVALUES ({values})")
    if table["filled"] or name == "store":  # which gets its row after the migrations
        texts["empty"] = f"DELETE FROM {name}"
    if counted:
        texts["counter"] = (f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), "
                            f"coalesce(max(id), 1), max(id) IS NOT NULL) FROM {name}")
    return texts


def copy_of(name, table, counted):
    texts = copy_texts(name, table, counted)
    queries = [dict(name=f"copy_{verb}_{name}", moves=[], scans="the whole store is copied",
                    fleeting="", invariant="", arguments=len(set(re.findall(r"\$(\d+)", text))),
                    sqlite="SELECT 0" if verb == "counter" else text, postgres=text)
               for verb, text in texts.items()]
    return dict(name=name, keys=table["keys"], queries=queries, verbs=list(texts),
                types="".join("i" if t == "INTEGER" else "t" for _, t in table["columns"]))


def copies_of(listing, paths):
    """How each table is copied, in the order of the list."""
    lines = re.findall(r"^-- (table|left): (\w+)", listing.read_text(), re.M)
    tables, counted = tables_of(paths), counted_tables(paths)
    listed = [name for _, name in lines]
    assert sorted(listed) == sorted(tables), (
        f"{listing}: not as the schema: {sorted(set(listed) ^ set(tables))}, or listed twice")
    return [copy_of(name, tables[name], name in counted) for kind, name in lines if kind == "table"]


def copies_in_c(copies):
    lines = ["const struct copied_table copied_tables[] = {"]
    for c in copies:
        lines += [f"    {{ .name = {json.dumps(c['name'])}, .types = {json.dumps(c['types'])}, "
                  f".keys = {c['keys']},"]
        for verb in ("count", "read", "last", "insert", "empty", "counter"):
            query = f"Q_COPY_{verb}_{c['name']}".upper() if verb in c["verbs"] else "QUERIES"
            lines += [f"      .{verb} = {query},"]
        lines += ["    },"]
    return lines + ["    { .name = 0 },", "};", ""]


def write(path, text):
    """What stays as it was keeps its time: whoever includes it need not be compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--output-dir", type=pathlib.Path, required=True)
    arguments.add_argument("files", nargs="+", type=pathlib.Path)
    options = arguments.parse_args()
    schema = sorted(f for f in options.files if f.parent.name == "schema")
    queries = [q for f in options.files if f not in schema for q in queries_of(f)]
    copies = [c for f in options.files if f.name == "copy.sql" for c in copies_of(f, schema)]
    queries += [q for c in copies for q in c["queries"]]

    header = [MADE_BY, "#pragma once", "", "enum query {"]
    header += [f"    Q_{q['name'].upper()}," for q in queries] + ["    QUERIES", "};", ""]

    source = [MADE_BY, '#include "store/query.h"', ""]
    source += ["const struct query_row queries[QUERIES] = {"]
    for q in queries:
        source += [f"    [Q_{q['name'].upper()}] = {{", f"        .name = {json.dumps(q['name'])},",
                   f"        .arguments = {q['arguments']},",
                   f"        .moves = {json.dumps('; '.join(q['moves']))},",
                   f"        .scans = {json.dumps(q['scans'])},",
                   f"        .fleeting = {json.dumps(bool(q['fleeting']))},",
                   f"        .invariant = {json.dumps(q['invariant'])},",
                   f"        .sqlite =\n        {c_text(q[SQLITE])},",
                   f"        .postgres =\n        {c_text(q[POSTGRES])},", "    },"]
    source += ["};", "", "const struct migration_row migrations[] = {"]
    for path in schema:
        version, name = path.stem.split("_", 1)
        since = compatible_since(path, int(version))
        source += [f"    {{ {int(version)}, {since}, {{"]
        for of in (SQLITE, POSTGRES):
            text = dialect(path.read_text(), of)
            digest = hashlib.sha256(text.encode()).hexdigest()[:12]
            source += [f"      [DIALECT_{of.upper()}] = {{ {json.dumps(name + ' ' + digest)},",
                       f"        {c_text(text)} }},"]
        source += ["    } },"]
    source += ["    { 0 },", "};", "", "const struct schema_name schema_names[] = {"]
    source += [f"    {{ {json.dumps(n)}, {json.dumps(kind)} }}," for n, kind in names_of(schema)]
    source += ["    { 0, 0 },", "};", ""] + copies_in_c(copies)

    postgres = ["-- Every named query, prepared: PostgreSQL must accept the same file."]
    for q in queries:
        postgres += [f"PREPARE {q['name']} AS", q[POSTGRES] + ";", ""]

    out = options.output_dir
    tables = "\n".join(dialect(path.read_text(), POSTGRES) for path in schema)
    write(out / "queries.gen.h", "\n".join(header))
    write(out / "queries.gen.c", "\n".join(source))
    write(out / "queries.postgres.sql", "\n".join(postgres))
    write(out / "schema.postgres.sql", tables + "\n")


main()
