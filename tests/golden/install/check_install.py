"""What `meson install` puts below its prefix: all pages of the manual, documents and examples; pkg-config and a module lead to
them, and the program works from there, also when the tree was moved.

usage: check_install.py MESON SOURCE BUILD PREFIX VERSION
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MESON, SOURCE, BUILD, PREFIX, VERSION = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
failures = []


def run(*command, **environment):
    known = {name: value for name, value in os.environ.items() if not name.startswith("MPISTAIR_")}
    done = subprocess.run(command, capture_output=True, timeout=60, text=True, env=dict(known, MPISTAIR_CONF="", **environment))
    return done.returncode, done.stdout, done.stderr


def check(name, good, detail):
    if not good:
        failures.append(f"{name}: {detail}")


def names(folder, pattern="*"):
    return {path.name for path in folder.glob(pattern)}


with tempfile.TemporaryDirectory() as temporary:
    code, out, err = run(MESON, "install", "-C", BUILD, "--no-rebuild", "--destdir", temporary)
    assert code == 0, out + err
    root = pathlib.Path(temporary + PREFIX)

    pages = names(root / "share/man/man1") | names(root / "share/man/man5")
    expected = names(SOURCE / "share/man", "*.[15]")
    check("manual", {page.removesuffix(".gz") for page in pages} == expected, f"{sorted(pages)}, expected {sorted(expected)}")
    documents = names(SOURCE / "share/doc") | {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"}
    check("documents", names(root / "share/doc/mpistair") >= documents, sorted(names(root / "share/doc/mpistair")))
    check("examples", names(root / "share/mpistair/examples") >= {"plots.py"}, sorted(names(root / "share/mpistair")))
    if shutil.which("man"):
        code, out, err = run("man", "-M", str(root / "share/man"), "-w", "mpistair-run")
        check("man", code == 0 and out.startswith(str(root)), out + err)

    (package,) = root.glob("**/mpistair.pc")
    if shutil.which("pkg-config"):
        def ask(*words):
            code, out, err = run("pkg-config", *words, "mpistair", PKG_CONFIG_PATH=str(package.parent))
            check(f"pkg-config {words}", code == 0, err)
            return out.strip()
        check("pkg-config", ask("--modversion") == VERSION and ask("--variable=prefix") == PREFIX, package.read_text())
        for variable in ("bindir", "datadir", "preload", "modulefiles"):
            path = ask(f"--define-variable=prefix={root}", f"--variable={variable}")
            check(f"pkg-config {variable}", path.startswith(str(root)) and os.path.exists(path), path)

    module = root / "share/mpistair/modulefiles/mpistair" / VERSION
    text = module.read_text()
    check("module", text.startswith("#%Module") and "@" not in text and f'set prefix "{PREFIX}"' in text, text)
    for folder in re.findall(r'prepend-path \w+ "\$prefix/([^"]*)"', text):
        check("module", (root / folder).is_dir(), f"{folder} is no folder of what was installed")
    modulecmd = shutil.which("modulecmd") or shutil.which("modulecmd", path="/usr/share/modules/libexec:/usr/lib/x86_64-linux-gnu/environment-modules/libexec")
    if modulecmd:
        code, out, err = run(modulecmd, "bash", "load", "mpistair", MODULEPATH=str(root / "share/mpistair/modulefiles"))
        check("modulecmd", f"{PREFIX}/bin" in out and "MPISTAIR_ROOT" in out and "rror" not in err, out + err)

    # The whole tree elsewhere: no path is compiled in.
    moved = pathlib.Path(temporary) / "elsewhere"
    root.rename(moved)
    program = str(moved / "bin/mpistair")
    code, out, err = run(program, "--version")
    check("version", code == 0 and VERSION in out, out + err)
    code, out, err = run(program, "machine", "list")
    check("machines", code == 0 and "thunderx2" in out, out + err)
    code, out, err = run(program, "query", "--list")
    check("queries", code == 0 and "callsites" in out, out + err)
    code, out, err = run(program, "doctor", "--json")
    check("doctor", str(moved) in out and str(BUILD) not in out, out + err)
    json.loads(out)

citation = (SOURCE / "share/CITATION.cff").read_text()
check("CITATION.cff", re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [VERSION], "another version than meson.build's")
check("CHANGELOG.md", f"\n## {VERSION} " in (SOURCE / "share/CHANGELOG.md").read_text(), f"nothing about {VERSION}")
try:
    import yaml
    fields = yaml.safe_load(citation)
    check("CITATION.cff", {"cff-version", "message", "title", "authors", "license", "date-released"} <= set(fields), fields)
except ImportError:
    print("no yaml module: CITATION.cff was not parsed")
for recipe in (SOURCE / "share/packaging/spack/packages").glob("*/package.py"):
    code = compile(recipe.read_text(), str(recipe), "exec")
    options = re.findall(r"-D(\w+)=", recipe.read_text())
    known = re.findall(r"option\('(\w+)'", (SOURCE / "meson.options").read_text())
    check(str(recipe), set(options) <= set(known), f"options {options}, known {known}")
recipe = (SOURCE / "share/packaging/spack/packages/mpistair/package.py").read_text()
check("package.py", f'version("{VERSION}")' in recipe, f"not of version {VERSION}")
debian = SOURCE / "share/packaging/debian"
check("debian/changelog", (debian / "changelog").read_text().startswith(f"mpistair ({VERSION}-"), f"not of version {VERSION}")
options = re.findall(r"-D(\w+)=", (debian / "rules").read_text())
check("debian/rules", set(options) <= set(known), f"options {options}, known {known}")
print("\n".join(failures) or "install: ok")
sys.exit(1 if failures else 0)
