"""Makes one file of the modules of Vega that the pages need, with the licence in front.

usage: bundle_vega.py FOLDER OUTPUT

Debian has each module in a file of its own, which asks for the others by require(). The output defines `vega`, an object
of all modules by name.
"""
import pathlib
import sys

# In the order in which they need each other; selection calls itself selections.
MODULES = ("util time format loader canvas scale statistics dataflow expression selection scenegraph functions runtime view "
           "event-selector parser transforms view-transforms encode label").split()
COPYRIGHT = pathlib.Path("/usr/share/doc/libjs-vega/copyright")
HEAD = """/*! Vega, https://vega.github.io/vega, Copyright 2015-2021 UW Interactive Data Lab, with parts of d3.js, Copyright 2010-2021
Mike Bostock. Taken from the package libjs-vega as it is; what that says of copyright:

%s*/
const vega = (function () {
const modules = {};
function require(name) {
  if (!modules[name]) throw new Error(name + " is not among the modules of this page");
  return modules[name];
}
"""


def main():
    folder, output = map(pathlib.Path, sys.argv[1:])
    licence = COPYRIGHT.read_text() if COPYRIGHT.is_file() else "BSD 3-clause licence.\n"
    parts = [HEAD % licence.replace("*/", "* /").replace("</", "< /")]
    for module in MODULES:
        text = (folder / f"vega-{module}.min.js").read_text()
        code = "\n".join(line for line in text.splitlines() if not line.startswith("//# sourceMappingURL"))
        if "</script" in code:
            sys.exit(f"{folder}/vega-{module}.min.js: has </script in it, which would end the element of the page")
        name = "vega-selections" if module == "selection" else f"vega-{module}"
        parts.append(f'(function (exports, module) {{{code}\n}})(modules["{name}"] = {{}}, {{}});\n')
    parts.append("return modules;\n})();\n")
    output.write_text("".join(parts))


main()
