"""Writes and reads a file by mpi4py; python.py knows what it does.

usage: mpi4py_files.py FILE
"""
import sys

from mpi4py import MPI

data = bytearray(1200)
comm = MPI.COMM_WORLD
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(len(data) * comm.rank, data)
file.Iwrite_at(len(data) * comm.rank, data).Wait()
file.Write_at_all_begin(len(data) * comm.rank, data)
file.Write_at_all_end(data)
file.Read_at(len(data) * comm.rank, data)
file.Close()
