"""Every .c and .h file opens with a comment that says why it exists, and no line of a comment is over 120 columns.

usage: comments.py SOURCE
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("calibrate", "interpose", "predictor", "report", "share", "tests")
COLUMNS = 120
# A comment, or a literal, in which no comment begins.
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def mistakes(text):
    """(line number, what is wrong) of each mistake in a file's comments."""
    if not text.startswith("/*"):
        yield 1, "the file does not open with a comment that says why it exists"
    lines = text.split("\n")
    for match in TOKEN.finditer(text):
        if match.group().startswith(("/*", "//")):
            first = text.count("\n", 0, match.start())
            for number in range(first, first + match.group().count("\n") + 1):
                if len(lines[number]) > COLUMNS:
                    yield number + 1, f"{len(lines[number])} columns, of {COLUMNS} at most"


# The test itself finds each kind of mistake, and nothing in a literal.
long = "/* " + "x" * 120 + " */"
assert not list(mistakes(f'/* Why. */\nchar *a = "{long}";\n'))
for bad, line in (("int x;\n", 1), (f"/* Why. */\n{long}\n", 2)):
    assert [number for number, _ in mistakes(bad)] == [line], (bad, list(mistakes(bad)))

files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h"))
assert len(files) > 500, len(files)
found = [f"{path.relative_to(ROOT)}:{number}: {what}" for path in files for number, what in mistakes(path.read_text(encoding="utf-8"))]
assert not found, "\n" + "\n".join(found)
print(f"comments: {len(files)} files ok")
