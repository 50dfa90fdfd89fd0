"""Comments are kept as they are meant: every .c and .h file opens with why it exists, no comment begins with "Of " or
"Whether " or tells a result without a verb ("0, or -1 ..."), and no line of a comment is over 120 columns.

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
# A sentence, not a note behind code, that begins so has no verb of its own.
VERBLESS = re.compile(r"(?:Of|Whether|The same of|As above|0,|0;|-1,|-1:|NULL:|False:|True:)(?: |$)|(?:0|NULL|False|True)\.?$")
# What a function returns, told behind a full stop without "Returns".
TOLD = re.compile(r"\. (?:0, or -1|0 or -1|0; -1|NULL: |True: |False: )")


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
        if not is_trailing and TOLD.search(words):
            yield number, f"a result is told without 'Returns': {TOLD.search(words).group().strip()}"
    for match in TOKEN.finditer(text):
        if match.group().startswith(("/*", "//")):
            first = text.count("\n", 0, match.start())
            for number in range(first, first + match.group().count("\n") + 1):
                if len(lines[number]) > COLUMNS:
                    yield number + 1, f"{len(lines[number])} columns, of {COLUMNS} at most"


# The test itself finds each kind of mistake, and nothing in a literal.
good = '/* Why. */\nchar *a = "/* Of x */"; /* of [n] */\n/* Returns 0, or -1. */\n'
assert not list(mistakes(good)), list(mistakes(good))
for bad, line in (("int x;\n", 1), ("/* Why. */\n/* Of a rank. */\n", 2), ("/* Why. */\nint x; /* Of a rank. */\n", 2),
                  ("/* Why. */\n/* Whether it is. */\n", 2), ("/* Why. */\n/* 0, or -1 without memory. */\n", 2),
                  ("/* Why. */\n/* Adds. 0, or -1 without memory. */\n", 2), (f"/* Why. */\n/* Is\n * {'x' * 120} */\n", 3)):
    assert [number for number, _ in mistakes(bad)] == [line], (bad, list(mistakes(bad)))

files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h"))
assert len(files) > 500, len(files)
found = [f"{path.relative_to(ROOT)}:{number}: {what}" for path in files for number, what in mistakes(path.read_text(encoding="utf-8"))]
assert not found, "\n" + "\n".join(found)
print(f"comments: {len(files)} files ok")
