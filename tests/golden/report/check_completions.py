"""Help, manual and completions say the same: each option that --help of a command has is in its page of the manual and is
offered by bash, zsh and fish, and no other is; commands, subcommands, models, machines, queries, topologies, kinds of
pattern and files are offered where they belong. Shells that are not installed are left out.

usage: check_completions.py MPISTAIR SOURCE
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

MPISTAIR, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
SCRIPTS = SOURCE / "share/completions"
failures = []


def output(*command, **more):
    done = subprocess.run(command, capture_output=True, timeout=60, text=True, **more)
    if done.returncode != 0 or done.stderr:
        failures.append(f"{command[:3]}: exit {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def need(what, found, expected):
    if sorted(found) != sorted(expected):
        failures.append(f"{what}: missing {sorted(set(expected) - set(found))}, too many {sorted(set(found) - set(expected))}")


def bash(lines, folder):
    """What bash offers for each line, a list of words of which the last is at the cursor."""
    script = f". {SCRIPTS}/mpistair\n" + "".join(
        f"COMP_WORDS=({' '.join(map(shlex.quote, line))}); COMP_CWORD={len(line) - 1}; _mpistair\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\" --------\n" for line in lines)
    return [block.split() for block in output("bash", "-c", script, cwd=folder).split("--------\n")[:-1]]


def zsh(lines, folder):
    """The same; what the completion system of zsh would do with the answers is printed instead."""
    script = """_describe() { print -l -- "${(@)fitting%%:*}" }
        _files() { [[ $1 = -g ]] && print -l -- ${~2} || print -l -- * }
        _command_names() { print -- mpiexec }
        """ + "".join(
        f"() {{ local -a words=({' '.join(map(shlex.quote, line))}); local CURRENT={len(line)} PREFIX={shlex.quote(line[-1])}\n"
        f"source {SCRIPTS}/_mpistair }}\nprint -- --------\n" for line in lines)
    return [block.split() for block in output("zsh", "-f", "-c", script, cwd=folder).split("--------\n")[:-1]]


def fish(lines, folder):
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), "/nonexistent")
    path = f"{pathlib.Path(MPISTAIR).parent}:{os.environ['PATH']}"
    script = f"source {SCRIPTS}/mpistair.fish\n" + "".join(
        f"complete -C {shlex.quote(' '.join(['mpistair', *line[1:]]))}\necho --------\n" for line in lines)
    text = output("fish", "--no-config", "-c", script, cwd=folder, env=os.environ | home | {"PATH": path})
    return [[row.split("\t")[0] for row in block.splitlines()] for block in text.split("--------\n")[:-1]]


def options_of_help(*command):
    rows = [row for row in output(MPISTAIR, *command, "--help").splitlines() if re.match(r" {2}-\w, --| {6}--\w", row)]
    heads = [re.match(r" +(?:(?:-\w, )?--[\w-]+(?: \S+)?(?:, |$| ))+", row)[0] for row in rows]
    return set(re.findall(r"(?<![\w-])(--[a-z][\w-]*|-\w)(?![\w-])", " ".join(heads)))


def options_of_page(command):
    """The options that the page explains: those in the tags of its lists."""
    page = re.sub(r"\\f[BIR]", "", (SOURCE / f"share/man/mpistair-{command}.1").read_text()).replace("\\-", "-")
    tags = re.findall(r"^\.TP\n(.*)", page, re.MULTILINE) + re.findall(r"^\.B[RI]? (--.*)", page, re.MULTILINE)
    return page, {option for tag in tags for option in re.findall(r"(?<![\w-])(--[a-z][\w-]*|-\w)(?![\w-])", tag)}


def names(text, pattern=r"^  (\w[\w-]*)  "):
    return re.findall(pattern, text, re.MULTILINE)


commands = names(output(MPISTAIR, "--help"))
subcommands = names(output(MPISTAIR, "machine", "--help"))
paths = [[command] for command in commands if command != "machine"] + [["machine", name] for name in subcommands]
options = {" ".join(path): options_of_help(*path) for path in paths}
if len(commands) < 10 or len(subcommands) < 6 or not {"--format", "-f", "--model", "--help"} <= options["report"]:
    failures.append(f"--help is read wrongly: {commands} {subcommands} {options['report']}")
for command in commands:
    page, explained = options_of_page(command)
    known = set().union(*(found for path, found in options.items() if path.split()[0] == command))
    for option in known - {"-h"}:
        if not re.search(rf"(?<![\w-]){option}(?![\w-])", page):
            failures.append(f"{command} {option} is not in its page of the manual")
    if explained - known:
        failures.append(f"the page of {command} explains {sorted(explained - known)}, which --help does not have")

predict_help = output(MPISTAIR, "predict", "--help")
laws = names(predict_help.split("laws of the whole run:")[1].split("terms,")[0])
law_terms = names(predict_help.split("LAW+TERM:")[1].split("models of")[0])
models = [*laws, *(name for name in names(predict_help.split("or of rounds:")[1].split("terms,")[0]) if name not in laws)]
terms = [*law_terms, *(name for name in names(predict_help.split("MODEL+TERM:")[1]) if name not in law_terms)]
files = {folder: [path.stem for path in (SOURCE / "share" / folder).glob(f"*.{suffix}")]
         for folder, suffix in {"machines": "tbl", "topologies": "topo", "sql": "sql"}.items()}
kinds = names(output(MPISTAIR, "pattern", "--help").split("kinds:")[1])
with tempfile.TemporaryDirectory() as folder:
    for name in ("one.db", "other.db", "here.tbl", "places.csv", "net.topo", "topology.conf", "text"):
        (pathlib.Path(folder) / name).touch()
    traces = ["one.db", "other.db"]
    # What is typed, and all that is offered.
    cases = [([*path, "-"], options[" ".join(path)]) for path in paths] + [
        (["repo"], ["report"]),
        (["machine", ""], [*subcommands, "--help"]),
        (["help", "machine", "f"], ["fit"]),
        (["predict", "one.db", "--model", ""], [*models, "all"]),
        (["predict", "one.db", "--model", "postal,sta"], [f"postal,{name}" for name in models if name.startswith("sta")]),
        (["predict", "one.db", "-M", "flow+"], [f"flow+{name}" for name in terms]),
        (["replay", "one.db", "--law", ""], laws),
        (["replay", "one.db", "--law", "flow+"], [f"flow+{name}" for name in law_terms]),
        (["predict", "--machine", ""], [*files["machines"], "here.tbl"]),
        (["predict", "--topology", ""], [*files["topologies"], "net.topo", "topology.conf"]),
        (["predict", "--to-placement", ""], ["fill", "round-robin-nodes", "round-robin-sockets", "places.csv"]),
        (["report", ""], traces),
        (["report", "o", ], traces),
        (["query", "one.db", ""], [name for name in files["sql"] if name != "schema"]),
        (["report", "one.db", "--format", "h"], ["html"]),
        (["machine", "show", "sum"], ["summit"]),
        (["pattern", "m"], [kind for kind in kinds if kind.startswith("m")]),
        (["nosuch", ""], []),
    ]
    lines = [[MPISTAIR, *line] for line, _ in cases]
    for shell, offers in {"bash": bash, "zsh": zsh, "fish": fish}.items():
        if not shutil.which(shell):
            print(f"{shell} is not installed and was left out")
            continue
        answers = offers(lines, folder)
        if len(answers) != len(cases):
            failures.append(f"{shell}: {len(answers)} answers to {len(cases)} lines")
        for (line, expected), answer in zip(cases, answers):
            # zsh and fish look themselves which of the files begin as what is typed
            answer = [word for word in answer if word.startswith(line[-1])]
            if shell == "fish":  # offers other files too, behind those that fit
                answer = [word for word in answer if word in expected or not (pathlib.Path(folder) / word).exists()]
            need(f"{shell}: mpistair {' '.join(line)}", answer, expected)
    after = bash([[MPISTAIR, "report", "--format", "=", "js"], [MPISTAIR, "run", "--", "mpistair-no-such"]], folder)
    need("bash: --format=js and a command", after, [["json"], []])
print("\n".join(failures) or f"completions: {len(paths)} commands, ok")
sys.exit(1 if failures else 0)
