"""The documents against the program: every command and option of --help is in the command's man page, every table and view of
the schema in mpistair.5, every file and folder that the README and share/doc name exists (NAME stands for any name), every
reference to MODELS.md, to a page of the manual or to a section of one can be opened, a page has the sections that readers
look for, and groff has no complaint and needs no more than 80 columns.

usage: check_documents.py MPISTAIR SOURCE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

MPISTAIR, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
failures = []


def output(*command):
    return subprocess.run(command, capture_output=True, timeout=60, text=True)


def need(what, pattern, text, where):
    if not re.search(pattern, text):
        failures.append(f"{what} is not in {where}")


def plain(path):
    """The text of a page without fonts; .BR mpistair-run (1) reads mpistair-run(1)."""
    text = re.sub(r"\\f[BIR]", "", path.read_text()).replace("\\-", "-")
    return re.sub(r"^\.BR (\S+) (\(\d\))", r"\1\2", text, flags=re.MULTILINE)


pages = {f"{path.stem}({path.suffix[1:]})": plain(path) for path in sorted((SOURCE / "share/man").glob("*.[15]"))}
headings_of = {page: re.findall(r"^\.SH (.*)", text, re.MULTILINE) for page, text in pages.items()}
overview, formats = pages["mpistair(1)"], pages["mpistair(5)"]
readme = (SOURCE / "README.md").read_text()

commands = re.findall(r"^  (\w+) ", output(MPISTAIR, "--help").stdout, re.MULTILINE)
if len(commands) < 8:
    failures.append(f"commands of --help: {commands}")
for command in commands:
    page = f"mpistair-{command}(1)"
    manual = pages.get(page, "")
    need(page, rf"(?<![\w-]){re.escape(page)}", overview, "mpistair.1")
    need(f"mpistair {command}", rf"(?m)^\.SH SYNOPSIS\n\.nf\nmpistair {command}\b", manual, page)
    usages = [output(MPISTAIR, command, "--help")]
    subcommands = re.findall(r"^  (\w+) ", usages[0].stdout, re.MULTILINE) if command == "machine" else []
    if command == "machine" and len(subcommands) < 6:
        failures.append(f"subcommands of machine --help: {subcommands}")
    usages += [output(MPISTAIR, command, subcommand, "--help") for subcommand in subcommands]
    for usage in usages:
        if usage.returncode != 0 or usage.stderr:
            failures.append(f"{command} --help: exit {usage.returncode}, stderr: {usage.stderr}")
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", "".join(usage.stdout for usage in usages))):
        need(f"{command} {option}", rf"(?<![\w-]){option}(?![\w-])", manual, page)
for name in re.findall(r"^CREATE (?:TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)", (SOURCE / "share/sql/schema.sql").read_text(), re.MULTILINE):
    need(name, rf"\b{name}\b", formats, "mpistair.5")
folders = [path.name for path in SOURCE.iterdir() if path.is_dir() and not path.name.startswith((".", "build"))]
documents = [SOURCE / "README.md", *(SOURCE / "share/doc").glob("*.md")]
for document in documents:
    text = document.read_text()
    paths = re.findall(rf"(?<![\w./<-])(?:{'|'.join(map(re.escape, folders))})/[\w./-]*", text)
    for path in sorted({path.rstrip(".-") for path in paths}):
        if not any(SOURCE.glob(path.rstrip("/").replace("NAME", "*"))):
            failures.append(f"{document.name} names {path}, which is not there")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        if not (document.parent / link).exists():
            failures.append(f"{document.name} links {link}, which is not there")
papers = {"T": "Thune", "B": "Bienz", "D": "Denis", "H": "Bienz"}
headings = re.findall(r"^## (.*)", (SOURCE / "share/doc/MODELS.md").read_text(), re.MULTILINE)
sources = (path for folder in folders for path in (SOURCE / folder).rglob("*.*"))
for source in (path for path in sources if path.suffix in (".c", ".h", ".py", ".sql", ".1", ".5")):
    name, text = source.relative_to(SOURCE), source.read_text(errors="replace")
    if source.name == pathlib.Path(__file__).name:
        continue
    for letter in set(re.findall(r"(?<![\w'\"-])([TBDH])(?: (?:Fig|Table|Algorithm|eq|section)|\d+(?![\w.]))", text)):
        if not re.search(rf"MODELS\.md|{papers[letter]}", text):
            failures.append(f"{name} cites paper {letter} and names neither its authors nor share/doc/MODELS.md")
    for before, section in re.findall(r"(share/doc/)?\bMODELS\.md(?:, ([^;:.)]+))?", re.sub(r"\s+(?:\* |# )?", " ", text)):
        if not before:
            failures.append(f"{name} cites MODELS.md without its folder, share/doc")
        if section and not any(section.lower().startswith(heading.split(" (")[0].lower()) for heading in headings):
            failures.append(f"{name} cites MODELS.md, {section}: no such section")
for page, text in pages.items():
    file = f"{page[:-3]}.{page[-2]}"
    needed = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"]
    needed = {"mpistair(1)": [*needed[:3], "ENVIRONMENT", "FILES", "EXIT STATUS", *needed[4:]], "mpistair(5)": ["NAME", "SEE ALSO"]}.get(page, needed)
    order = [heading for heading in headings_of[page] if heading in needed]
    if order != needed:
        failures.append(f"{file} has the sections {order} where {needed} are expected")
    for other in re.findall(r"(?<![\w-])mpistair[\w-]*\(\d\)", text):
        if other not in pages:
            failures.append(f"{file} names {other}, which is not there")
    prose = re.sub(r"\s+", " ", re.sub(r"^\.S[HS].*", "", text, flags=re.MULTILINE))
    for heading in {heading for headings in headings_of.values() for heading in headings if " " in heading or heading == "MODELS"}:
        for before in re.findall(rf"((?:mpistair[\w-]*\(\d\), )?)\b{re.escape(heading)}\b(?!\.md)", prose.replace("SEE ALSO", "")):
            if heading not in headings_of.get(before[:-2] or page, []):
                failures.append(f"{file} refers to {before}{heading}, which is not there")
    if shutil.which("groff"):
        formatted = output("groff", "-man", "-Tutf8", "-ww", "-P-cbou", str(SOURCE / "share/man" / file))
        if formatted.returncode != 0 or formatted.stderr:
            failures.append(f"{file}: {formatted.stderr}")
        failures += [f"{file} needs more than 80 columns: {line}" for line in formatted.stdout.split("\n") if len(line) > 80]
print("\n".join(sorted(failures)) or "documents: ok")
sys.exit(1 if failures else 0)
