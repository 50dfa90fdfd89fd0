#!/usr/bin/env python3
"""What a backend exports and needs: one symbol, and of MPI only what DESIGN says. usage: backend_needs.py MPI BACKEND"""
import subprocess
import sys


def read(*command):
    return subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE).stdout.splitlines()


mpi, backend = sys.argv[1], sys.argv[2]
needed = [line.split("[")[1].rstrip("]") for line in read("readelf", "-d", "-W", backend) if "(NEEDED)" in line]
exported = [line.split()[7] for line in read("readelf", "--dyn-syms", "-W", backend)
            if len(line.split()) == 8 and line.split()[4] in ("GLOBAL", "WEAK") and line.split()[6] != "UND"]
links_mpi = any("mpi" in name.lower() for name in needed)
if exported != ["mpistair_backend_v1"]:
    sys.exit(f"{backend} exports {exported}")
if links_mpi != (mpi == "openmpi"):
    sys.exit(f"{backend} needs {needed}")
undefined = [line.split()[7] for line in read("readelf", "--dyn-syms", "-W", backend)
             if len(line.split()) == 8 and line.split()[6] == "UND" and line.split()[7].startswith(("MPI_", "PMPI_"))]
if undefined:
    sys.exit(f"{backend} calls MPI by name: {undefined}")
