#!/usr/bin/env python3
"""Writes a C header with the bytes of a file.

    tools/embed_file.py NAME FILE HEADER

The header has `static const unsigned char NAME[]`, for the one source that includes it.
"""
import pathlib
import sys

PER_LINE = 24


def main():
    name, file, header = sys.argv[1:]
    data = pathlib.Path(file).read_bytes()
    lines = [",".join(map(str, data[at:at + PER_LINE])) for at in range(0, len(data), PER_LINE)]
    text = ",\n".join(lines)
    pathlib.Path(header).write_text(f"static const unsigned char {name}[] = {{\n{text}\n}};\n")


if __name__ == "__main__":
    main()
