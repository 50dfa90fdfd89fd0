"""Comments are kept as they are meant: every .c and .h file opens with why it exists, no comment (a note behind
code or a formula apart) is without a verb, begins with "Of " or "Whether ", or tells a result without a verb ("0, or -1 ..."),
and no line of a comment is over 120 columns.

usage: comments.py SOURCE
"""
import pathlib
import re
import sys

from words import TOLD, VERBLESS, has_verb

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("calibrate", "interpose", "predictor", "report", "share", "tests")
COLUMNS = 120
# A comment, or a literal, in which no comment begins.
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def comments(text):
    """(line number, text without stars and ends, whether code stands before it on its line) of each comment."""
    for match in TOKEN.finditer(text):
        raw = match.group()
        if not raw.startswith(("/*", "//")):
            continue
        begin = text.rfind("\n", 0, match.start()) + 1
        words = " ".join(re.sub(r"\n\s*\*( |$)", "\n", raw.strip("/").strip("*")).split())
        yield text.count("\n", 0, match.start()) + 1, words, text[begin:match.start()].strip() != ""


def mistakes(text):
    """(line number, what is wrong) of each mistake in a file's comments."""
    if not text.startswith("/*"):
        yield 1, "the file does not open with a comment that says why it exists"
    lines = text.split("\n")
    for number, words, is_trailing in comments(text):
        if words.startswith("Of ") or (not is_trailing and VERBLESS.match(words)):
            yield number, f"begins without a verb: {words[:60]}"
        elif not is_trailing and "=" not in words and not has_verb(words):
            yield number, f"has no verb: {words[:60]}"
        if not is_trailing and TOLD.search(words):
            yield number, f"a result is told without 'Returns': {TOLD.search(words).group().strip()}"
    for match in TOKEN.finditer(text):
        if match.group().startswith(("/*", "//")):
            first = text.count("\n", 0, match.start())
            for number in range(first, first + match.group().count("\n") + 1):
                if len(lines[number]) > COLUMNS:
                    yield number + 1, f"{len(lines[number])} columns, of {COLUMNS} at most"


# The test itself finds each kind of mistake, and nothing in a literal.
good = '/* It is. */\nchar *a = "/* Of x */"; /* of [n] */\n/* Returns 0, or -1. */\n'
assert not list(mistakes(good)), list(mistakes(good))
for bad, line in (("int x;\n", 1), ("/* It is. */\n/* Of a rank. */\n", 2), ("/* It is. */\nint x; /* Of a rank. */\n", 2),
                  ("/* It is. */\n/* Whether it is. */\n", 2), ("/* It is. */\n/* 0, or -1 without memory. */\n", 2),
                  ("/* It is. */\n/* Adds. 0, or -1 without memory. */\n", 2), ("/* It is. */\n/* A whole rank. */\n", 2), (f"/* It is. */\n/* Is\n * {'x' * 120} */\n", 3)):
    assert [number for number, _ in mistakes(bad)] == [line], (bad, list(mistakes(bad)))

files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h"))
assert len(files) > 500, len(files)
found = [f"{path.relative_to(ROOT)}:{number}: {what}" for path in files for number, what in mistakes(path.read_text(encoding="utf-8"))]
assert not found, "\n" + "\n".join(found)
print(f"comments: {len(files)} files ok")
