"""The manual, README.md and share/doc are read by strangers: every sentence of their prose has a verb.

usage: manual.py SOURCE
"""
import pathlib
import re
import sys

from words import VERBLESS, has_verb

ROOT = pathlib.Path(sys.argv[1])
# A dot, question mark or colon ends a sentence where a new one, or nothing, follows; not behind an abbreviation.
END = re.compile(r"(?<!\b[A-Z])(?<!\bpp)(?<!\bcf)(?:[.?][)\"]?(?=\s+[A-Z`*(\[\\])|[.?:;,]?[)\"]?\s*$)")
# A label such as "**A** (test `worked`)." or "Limits:" opens a paragraph; what follows it is the sentence.
LABEL = re.compile(r"\*\*[^*]+\*\*(?: \([^)]*\)\.| *(?=[A-Z]))|(?:Domain|Limits|Note): ")
# What the section NAME calls a page; what it says of it follows.
NAMED = re.compile(r"^mpistair[\w-]* - ")


def roff(text):
    """Paragraphs of a manual page, each a list of (line number, line): no headings, no synopses and examples, no tags of
    options, no list of other pages."""
    paragraph, is_example, is_tag = [], False, False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("."):
            request = line.split()[0]
            is_example = request == ".nf" or (is_example and request != ".fi")
            is_tag = request == ".TP"
            yield paragraph
            paragraph = []
        elif is_tag:
            is_tag = False
        elif not is_example:
            line = NAMED.sub("", re.sub(r"\\f[BIRP]", "", line).replace("\\(bu", "").replace("\\-", "-"))
            paragraph.append((number, line))
    yield paragraph


def markdown(text):
    """The same of a document: no headings, tables and code, and no citations."""
    paragraph, is_citation, is_fenced = [], False, False
    for number, line in enumerate(text.split("\n"), 1):
        item = re.match(r"\s*(?:[-*]|\d+\.) +", line)
        is_fence = line.startswith("```")
        is_fenced ^= is_fence
        if line.startswith("#"):
            is_citation = line == "## Papers"
        if is_fence or is_fenced or is_citation or not line.strip() or line.startswith(("#", "|")) or (line.startswith("    ") and not paragraph):
            yield paragraph
            paragraph = []
        else:
            if item:
                yield paragraph
                paragraph = []
            paragraph.append((number, line[item.end() if item else 0:]))
    yield paragraph


def sentences(paragraph):
    """(line number, sentence) of each sentence; code in it is a name."""
    text, lines = "", []
    for number, line in paragraph:
        lines += [number] * (len(line) + 1)
        text += line + " "
    label = LABEL.match(text)
    begin = label.end() if label else 0
    for end in END.finditer(text, begin):
        sentence = text[begin:end.end()]
        if sentence.strip():
            begin += len(sentence) - len(sentence.lstrip())
            yield lines[begin], re.sub(r"`[^`]*`", "X", sentence.strip())
        begin = end.end()


def mistakes(text, paragraphs):
    """(how many sentences there are, (line number, sentence) of each without a verb)."""
    found = [sentence for paragraph in paragraphs(text) for sentence in sentences(paragraph)]
    return len(found), [(number, words) for number, words in found if VERBLESS.match(words) or not has_verb(words)]


# The test itself finds a sentence without a verb, on its line, and takes nothing else for one.
good = "# Whole rounds\n\n**A** (test `x`). It is so. `run` says it, see Fig. 3.\n\n    whole rounds\n\n| whole | rounds |\n- Limits: it has none.\n"
assert mistakes(good, markdown) == (3, []), mistakes(good, markdown)
assert mistakes("It is\nso. Whole rounds\nof `it is`. It is so:\n", markdown) == (3, [(2, "Whole rounds of X.")])
assert mistakes("- It is.\n- Limits: whole rounds.\n\nWith rounds:\n\n    it is\n", markdown)[1] == [(2, "whole rounds."), (4, "With rounds:")]
assert mistakes("It is:\n```sh\nwhole rounds:\n```\nWhole rounds:\n", markdown) == (2, [(5, "Whole rounds:")])
assert mistakes(".TP\n\\fB-o\\fR\nnames it\n.TP\nwhole\nrounds. Whole \\fIrounds\\fR\n.nf\nwhole\n.fi\n", roff) == (3, [(6, "rounds."), (6, "Whole rounds")])
assert mistakes(".SH NAME\nmpistair\\-run \\- records it\n.SH NAME\nmpistair\\-run \\- whole rounds\n", roff) == (2, [(4, "whole rounds")])

files = [*sorted((ROOT / "share/man").glob("*.[1-9]")), ROOT / "README.md", *sorted((ROOT / "share/doc").glob("*.md"))]
assert len(files) >= 15, files
failures, total = [], 0
for path in files:
    count, found = mistakes(path.read_text(encoding="utf-8"), markdown if path.suffix == ".md" else roff)
    failures += [f"{path.relative_to(ROOT)}:{number}: no verb: {words}" for number, words in found]
    total += count
assert total > 1000, total
assert not failures, "\n" + "\n".join(failures)
print(f"manual: {total} sentences in {len(files)} files ok")
