"""First inputs for the fuzzer: the golden traces, shipped tables and topologies, and a few lines of each other format.

usage: seeds.py GEN_WRAPPERS MPI.TBL SOURCE_ROOT FOLDER
writes FOLDER/READER/seed-... and FOLDER/READER.dict, the words of a reader's seeds; the form of the inputs stands in
read_spool.c and read_database.c.
"""
import os
import re
import struct
import sys
import tempfile

import dumpi_file

SOURCE = sys.argv[3]
sys.path.insert(0, os.path.join(SOURCE, "tests/golden/trace"))
import spool

HEADER_USED = 12288

SETS = 'nodeset="0x1" complete_nodeset="0x1"'
CORES = "".join(f'<object type="Core" os_index="{i}" cpuset="0x{i + 1}" complete_cpuset="0x{i + 1}" {SETS}><object type="PU" '
                f'os_index="{i}" cpuset="0x{i + 1}" complete_cpuset="0x{i + 1}" {SETS}/></object>' for i in (0, 1))
SETS = f'os_index="0" cpuset="0x3" complete_cpuset="0x3" {SETS}'
SMALL_NODE = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" {SETS} allowed_cpuset="0x3" allowed_nodeset="0x1">
<object type="Package" {SETS}>
<object type="NUMANode" {SETS}/>
<object type="L3Cache" {SETS} cache_size="9" depth="3" cache_linesize="64" cache_associativity="1" cache_type="0">
{CORES}</object></object></object></topology>
"""

MEMORY = ("# memory cores 4\n# memory numa_nodes 1\n# memory numa_all 2\n# memory method nic\n"
          "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa,at_s\n" + "".join(
              f"memory_contention,{variant},inter_node,1000000000,{n},{1 / gb * noise},1,{place},1\n"
              for numa in (0, 1) for noise in (1, 1.01) for variant, place, rows in (
                  ("message_alone", f",{numa}", ((0, 8),)), ("computation_alone", f"{numa},", enumerate((5, 10, 12, 12), 1)),
                  ("computation", f"{numa},{numa}", enumerate((5, 9, 8, 8), 1)),
                  ("message", f"{numa},{numa}", enumerate((8, 7, 6, 6), 1))) for n, gb in rows))

RESULTS = ("interface,rma,mpi,ranks,buffers_per_rank,peers,bytes,threads,parts,compute_s,arrivals,seed,trials,iterations,bsp_s,bsp_low_s,"
           "bsp_high_s,fine_s,fine_low_s,fine_high_s,speedup_percent,speedup_low_percent,speedup_high_percent,oversleep_s,void\n"
           "p2p,,mpich,8,1,6,4096,16,4,0.004,laggard:4,1,5,200,1,1,1,1,1,1,1.5,1,2,1e-6,\n"
           "rma,passive,mpich,8,1,6,4096,16,4,0.004,\"kde:a,b\",1,5,200,1,,,1,,,-3,,,1e-6,overslept\n")

TEXTS = {
    "arrivals": ["rank,thread,seconds\n0,0,1e-3\n0,1,2e-3\n1,0,3e-3\n1,1,4e-3\n", "seconds\n1e-3\n2e-3\n# more\n2.5e-3\n",
                 "1,1,0.2\r\n0,0,0.1\r\n 1, 0,.3\r\n0,0,0.5\r\n", "5e-3\n5e-3\n5e-3\n7e-3\n"],
    "dumpi": dumpi_file.pair(),
    "goal": ["num_ranks 2\n\nrank 0 {\nl1: calc 100\nl2: send 10b to 1 tag 3\nl2 requires l1\n}\n"
             "rank 1 {\nl1: recv 10b from 0 tag 3 cpu 1 nic 0\nl2: calc 50 cpu 0\nl2 irequires l1 // begun\n}\n"],
    "tit": ["0 init\n1 init\n0 compute 1e6\n0 isend 1 5 100 6\n0 waitall\n1 recv 0 5 100 6\n0 allreduce 8 0\n1 allreduce 8 0\n",
            "0 irecv 1 2 3\n0 wait 1 0 2\n1 send 0 2 3\n1 sleep 0.5\n0 bcast 10 1 0\n1 bcast 10 1 0\n0 finalize\n"],
    "pattern": ["src,dst,bytes\n0,1,100\n1,2,8000\n3,3,0\n",
                "src,dst,bytes,send_s,recv_s,comm,any_source\n0,1,100,0,1e-6,0,0\n2,1,5000,1e-6,0,1,1\n# x\n1,3,9,,,0,1\n"],
    "placement": ["rank,node,socket\n0,0,0\n1,0,1\n2,1,0\n3,1,1\n", "rank,node,socket,numa,l3\n1,0,1,0,-\n0,0,0,,1\n"],
    "samples": ["level,bytes,seconds\n" + "".join(f"intra_socket,{b},{1e-6 + b * k * 1e-9}\n" for b in (0, 64, 1024, 65536)
                                                  for k in (1, 2)),
                "benchmark,variant,level,bytes,n,count,launch,seconds\n" + "".join(
                    f"pingpong,,inter_node,{b},1,1,{l},{2e-6 + b * 1e-9}\nalgorithm1,,inter_node,{b},2,4,{l},{2e-6 + b * 3e-9}\n"
                    for b in (1, 512, 8192, 100000) for l in (1, 2)),
                "benchmark,variant,level,bytes,n,count,launch,seconds\n" + "".join(
                    f"queue,{v},intra_socket,0,{n},1,1,{n * s}\n" for n in (16, 64, 256)
                    for v, s in (("posted_inorder", 1e-6), ("posted_reversed", 3e-6))) +
                "contention,alone,inter_node,65536,2,8,1,1e-4\ncontention,shared,inter_node,65536,2,8,1,2e-4\n"
                "buffer,taken,inter_node,1024,1,1,1,0\nbuffer,refused,inter_node,4096,1,1,1,0\nself,,self,64,1,1,1,1e-7\n"
                "eager,taken,intra_socket,1024,1,1,1,0\neager,refused,intra_socket,4096,1,1,1,0\n"
                "injection,,inter_node,65536,4,8,1,1e-3\n" + "".join(
                    f"overhead,{v},intra_socket,{b},1,1,1,1e-7\n" for b in (8, 4096, 65536) for v in ("send", "receive")) +
                "".join(f"progress,{v},intra_socket,{b},1,1,1,{s + b * 1e-9}\n" for b in (8, 65536)
                        for v, s in (("alone", 1e-6), ("sender", 1e-9), ("receiver", 1e-6), ("both", 1e-6))) +
                "".join(f"burst,{v},inter_node,{b},1,1,1,{b * s}\n" for b in (262144, 1048576) for v, s in (("rested", 6e-8),
                        ("stream", 8e-8)) for _ in range(3)) +
                "".join(f"backlog,{v},inter_node,{b},1,1,1,{s}\n" for v, b, s in (("alone", 8, 5e-5), ("other", 8, 2e-3), ("own", 8, 2e-2),
                        ("stream", 1835008, 4e-2)) for _ in range(3)),
                "benchmark,level,bytes,seconds,waited\n# begin curves 1 19.5\n# probe curves 1 0.1 1e-07 2e-04 - - quiet\n" + "".join(
                    f"pingpong,intra_socket,{b},{1e-6 + b * 1e-9},{w}\n" for b in (0, 64, 65536) for w in ("", 0, 0.3)) +
                "# probe curves 1 1.1 1.2e-07 2e-04 0.2 0 waited\npingpong,intra_socket,8,1e-6,\n"
                "# probe curves 1 2.1 3e-07 2e-04 0 0.5 steal\npingpong,intra_socket,8,1e-6,1\n# probe eager 2 3 - 4 1 1 level\n"],
    "memory_samples": [MEMORY, MEMORY.replace("nic", "cpu-copy").replace("inter_node", "intra_socket")],
    "raw_file": ["# mpistair calibrate 1\n# begin curves 1 19.5\n# ranks 8\nbenchmark,variant,level,bytes,at_s\n"
                 "pingpong,,intra_socket,8,1.5\n# probe curves 1 1.6 1e-07 2e-04 0.01 0 quiet\n# done curves 1 17.2\n"],
    "resume": ["# mpistair calibrate 1\nbenchmark,variant,level,bytes,n,count,seconds,launch,ranks,domain,repeats,at_s\n"
               "pingpong,,intra_socket,8,1,1,1e-6,1,0-1,l3,1,0.5\n",
               "benchmark,variant,level,bytes,n,count,seconds,launch,ranks,domain,repeats,waited,at_s\n"
               "pingpong,,intra_socket,8,1,1,1e-6,1,0-1,l3,1,0.3,0.5\npingpong,,intra_socket,8,1,1,1e-6,1,0-1,l3,1,,0.6\n"
               "# probe pingpong 1 1.1 1e-07 2e-04 0.2 0 waited\n"],
    "sweep": ["# two\n--bytes 4096 65536\n--parts 2 4 3\n--interface p2p rma\n--rma fence passive\n--fold\n",
              "\xef\xbb\xbf--arrivals laggard:4 normal:2us\r\n--compute 1e-3 .002\r\n--width 1e-6\r\n--threads 4 # of four\r\n"],
    "sweep_rows": [RESULTS, RESULTS.replace("\n", "\r\n") + "# more\n"],
    "maps": ["00400000-00500000 r-xp 00001000 08:01 123 /bin/true\n7f00-8f00 r--p 0 0:0 0 /x\n7f00000-8f00000 r-xp 0 0:0 0 [vdso]\n",
             "= 0 100\n* 1000 5000 0 id=ab12 /bin/true\n+ 7000 9000 1000 file=10,20,30,40 /bin/ls\n+ 9000 a000 0 - /x\n.\n"
             "? 150 200\n- 7000\n+ 8000 9800 0 deleted /y\n.\n! 300\n= 310 320\n- 8000\n.\n"],
    "machine": [], "otf2": [], "topology": [], "node_topology": [SMALL_NODE],
    "database": [bytes([command, 0]) + sql for command in range(8) for sql in (
        b"", b"UPDATE message_row SET bytes = 9223372036854775807;", b"INSERT INTO message_row SELECT id + 10, src, dst, comm, "
        b"tag, bytes, form, round_id, send_post_ns + 7, send_ns, late_ns, recv_ns, room_bytes, 0, 0, 5, 5 FROM message_row;",
        b"UPDATE process SET rank = rank + 100000000; DELETE FROM node;", b"UPDATE round_process SET end_ns = NULL;",
        b"UPDATE machine_parameter SET value = 1e308, level = 'any';")] +
    [bytes([command, 1]) + struct.pack("<HBB", 20000, 1, 2) + b"ab" for command in range(8)],
}
SCRIPTS = ["halo", "threads", "onesided", "partitioned", "persistent", "communicators", "intercommunicator", "off",
           "clocks_messages", "groups", "marks", "sendrecv", "lost", "levels"]


def read_script(name):
    lines = []
    for line in open(os.path.join(SOURCE, "tests/golden/trace", name + ".case"), encoding="utf-8"):
        line = line.split("#")[0].strip()
        if line.startswith("?"):
            break
        if line and line.split()[0] not in ("options", "exit", "stderr"):
            lines.append(line.replace("{case}", os.path.join(SOURCE, "tests/golden/trace")))
    return lines


def patches(plain, header):
    """Where a header differs, as the input says it."""
    found, at = [], 0
    while at < HEADER_USED:
        if plain[at] == header[at]:
            at += 1
            continue
        end = at + 1
        while end < HEADER_USED and end - at < 255 and plain[end:end + 4] != header[end:end + 4]:
            end += 1
        found.append(struct.pack("<HB", at, end - at) + header[at:end])
        at = end
    return bytes([len(found)]) + b"".join(found)


def pack_spools(functions, lines):
    with tempfile.TemporaryDirectory() as folder:
        plain = spool.Script(*functions)
        plain.read(["world 2"])
        with open(plain.write(folder)[0], "rb") as file:
            plain_header = file.read(HEADER_USED)
        script = spool.Script(*functions)
        script.read(lines)
        packed = b""
        for path in script.write(folder)[:4]:
            with open(path, "rb") as file:
                data = file.read()
            chunks = data[spool.HEADER_BYTES + spool.AREA_BYTES:].rstrip(b"\0")
            packed += patches(plain_header, data[:HEADER_USED]) + struct.pack("<H", min(len(chunks), 0xFFFE)) + chunks[:0xFFFE]
        return packed


def write_seed(reader, number, content):
    folder = os.path.join(sys.argv[4], reader)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"seed-{number}"), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def write_words(reader, contents):
    """The words for libFuzzer to put in; of a trace's SQL the schema's, too."""
    texts = [content if isinstance(content, str) else content.decode("latin-1") for content in contents]
    if reader == "database":
        with open(os.path.join(SOURCE, "share/sql/schema.sql"), encoding="utf-8") as file:
            texts.append(file.read())
    words = sorted({word for text in texts for word in re.findall(r'[A-Za-z_]{2,}(?:="(?:0x)?)?', text)})
    with open(os.path.join(sys.argv[4], reader + ".dict"), "w", encoding="utf-8") as file:
        file.writelines('"' + word.replace('"', '\\"') + '"\n' for word in words)


def main():
    functions = spool.read_functions(sys.argv[1], sys.argv[2])
    for reader, folder in (("machine", "share/machines"), ("topology", "share/topologies")):
        for name in sorted(os.listdir(os.path.join(SOURCE, folder))):
            with open(os.path.join(SOURCE, folder, name), "rb") as file:
                TEXTS[reader].append(file.read())
    with open(os.path.join(SOURCE, "tests/golden/trace/two_sockets.xml"), "rb") as file:
        TEXTS["node_topology"].append(file.read())
    for reader, contents in TEXTS.items():
        os.makedirs(os.path.join(sys.argv[4], reader), exist_ok=True)
        for number, content in enumerate(contents):
            write_seed(reader, number, content)
        write_words(reader, contents)
    for name in SCRIPTS:
        write_seed("spool", name, pack_spools(functions, read_script(name)))


if __name__ == "__main__":
    main()
