"""mpistair doctor where something is taken away: the MPIs, the room for spools, the preload library, libdw.

usage: check_doctor.py MPISTAIR LIBCUDA_OF_TESTS
"""
import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile

mpistair = os.path.abspath(sys.argv[1])
LACKS = os.environ.get("MPISTAIR_LACKS", "").split()  # what this build goes without
failures = []


def look(name, *arguments, expect=None, **changes):
    """The report as JSON and the exit code; expect: {check: state}, of which one check of that name must be so."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MPISTAIR_", "OMPI_"))}
    environment["MPISTAIR_CONF"] = ""
    environment.update(changes)
    done = subprocess.run([mpistair, "doctor", "--json", *arguments], capture_output=True, timeout=100, env=environment)
    report = json.loads(done.stdout)
    if done.stderr or done.returncode != (0 if report["can_record"] else 1):
        failures.append(f"{name}: exit {done.returncode}, can_record {report['can_record']}: {done.stderr.decode()}")
    for check, state in (expect or {}).items():
        states = [c["state"] for c in report["checks"] if c["check"] == check]
        if state not in states:
            failures.append(f"{name}: {check} is {states}, expected {state}")
    for check in report["checks"]:
        if check["state"] != "ok" and not check["advice"]:
            failures.append(f"{name}: {check} gives no advice")
    return report


def refuse_counters():
    """Lets a filter of seccomp refuse perf_event_open (298 on x86_64, 241 elsewhere) to what this process becomes."""
    number = 298 if os.uname().machine == "x86_64" else 241
    code = b"".join(struct.pack("<HBBI", *line) for line in ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)))
    lines = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<H6xQ", len(code) // 8, ctypes.addressof(lines)))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        os._exit(1)


done = subprocess.run([mpistair, "doctor", "--json"], capture_output=True, timeout=100, preexec_fn=refuse_counters)
counters = [check for check in json.loads(done.stdout)["checks"] if check["check"] == "counters"]
if [check["state"] for check in counters] != ["note"] or "perf_event_paranoid" not in counters[0]["advice"]:
    failures.append(f"counters that are forbidden: {counters}")
look("as it is", expect={"processors": "ok", "call sites": "note" if "libdw" in LACKS else "ok"} |
     {part: "note" for part, name in (("Scotch", "scotch"), ("OTF2", "otf2")) if name in LACKS})
with tempfile.TemporaryDirectory() as folder:
    nothing = look("no launcher", PATH=folder, expect={"recording": "missing"})
    if nothing["can_record"]:
        failures.append("no launcher: can_record")
    look("a spool folder to be made", MPISTAIR_SPOOL=os.path.join(folder, "new"), expect={"spools": "ok"})
    if os.listdir(folder):
        failures.append(f"left behind: {os.listdir(folder)}")
    look("no spool folder", MPISTAIR_SPOOL="/proc/no/folder", expect={"spools": "missing"})
    conf = os.path.join(folder, "site.conf")
    with open(conf, "w") as file:
        file.write("MPISTAIR_SPOOL=/proc/no/folder\nMPISTAIR_DETAIL=none\n")
    defaults = look("defaults of a site", MPISTAIR_CONF=conf, MPISTAIR_DETAIL="full",
                    expect={"defaults": "ok", "spools": "missing"})
    found = next(check["found"] for check in defaults["checks"] if check["check"] == "defaults")
    if found != f"{conf}: MPISTAIR_DETAIL=none (the environment has it, too, and wins), MPISTAIR_SPOOL=/proc/no/folder":
        failures.append(f"defaults of a site: {found}")
    with open(conf, "a") as file:
        file.write("MPISTAIR_SUMS=1\n")
    defaults = look("wrong defaults of a site", MPISTAIR_CONF=conf, expect={"defaults": "note"})
    found = next(check["found"] for check in defaults["checks"] if check["check"] == "defaults")
    if found != f"{conf}:3: 'MPISTAIR_SUMS' is not a known key: MPISTAIR_DETAIL=none, MPISTAIR_SPOOL=/proc/no/folder":
        failures.append(f"wrong defaults of a site: {found}")
    look("defaults that are a folder", MPISTAIR_CONF=folder, expect={"defaults": "note", "spools": "ok"})
    os.remove(conf)
    look("no library", MPISTAIR_LIB=folder, expect={"preload": "missing"})
    open(os.path.join(folder, "libdw.so.1"), "w").close()
    look("a libdw that is none", LD_LIBRARY_PATH=folder, expect={"call sites": "note"})
    with open(os.path.join(folder, "mpiexec"), "w") as launcher:
        launcher.write("#!/bin/sh\nprintf 'some launcher\\377'\n")
    os.chmod(os.path.join(folder, "mpiexec"), 0o755)
    if look("an unknown launcher", PATH=folder)["can_record"]:
        failures.append("an unknown launcher: can_record")
synthetic = look("synthetic topology", HWLOC_SYNTHETIC="pack:2 core:3 pu:1")
if "2 sockets, 6 cores" not in str(synthetic["checks"]):
    failures.append(f"synthetic topology: {synthetic['checks'][0]}")
drivers = {"ok": ("ok", "2 of NVIDIA (driver of CUDA 12.4): mock 0, mock 1"), "mute": ("ok", "does not report its version"),
           "old": ("note", "of CUDA 11.2: expected 11.3"), "lacking": ("note", "and lacks cuDeviceGetName: expected 11.3"),
           "refused": ("note", "refuses cuInit with CUDA_ERROR_UNKNOWN (999)"),
           "unnamed": ("note", "refuses cuInit with an unknown error (999)"), "none": ("note", "sees no GPU")}
can_record = {}
for state, (expected, words) in drivers.items():
    report = look(f"a driver that is {state}", LD_LIBRARY_PATH=os.path.dirname(os.path.abspath(sys.argv[2])), MOCK_CUDA=state,
                  expect={"GPUs": expected})
    can_record[state] = report["can_record"]
    found = next(check["found"] for check in report["checks"] if check["check"] == "GPUs")
    if words not in found or "\n" in found:
        failures.append(f"a driver that is {state}: {found}")
if len(set(can_record.values())) > 1:
    failures.append(f"a driver changes what can be recorded: {can_record}")
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "libcuda.so.1"), "w").close()
    report = look("a driver that is none", LD_LIBRARY_PATH=folder, expect={"GPUs": "ok"})
    if "no NVIDIA driver: " not in str(report["checks"]):
        failures.append(f"a driver that is none: {report['checks']}")
text = subprocess.run([mpistair, "doctor"], capture_output=True, timeout=100)
if text.returncode not in (0, 1) or b"recorded here" not in text.stdout:
    failures.append(f"text: exit {text.returncode}: {text.stdout}")
if subprocess.run([mpistair, "doctor", "--fast"], capture_output=True, timeout=100).returncode != 2:
    failures.append("--fast: expected exit 2")
print("\n".join(failures) or "doctor: ok")
sys.exit(1 if failures else 0)
