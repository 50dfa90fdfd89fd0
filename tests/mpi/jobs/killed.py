"""Jobs of tests/apps/progress.c that are killed from outside, and what their traces must have."""
import os
import pathlib
import signal
import struct
import subprocess
import time

import job

RING = 65536


class Killed:
    """A running progress, and its ranks' maps."""

    def __init__(self, test, way="plain", wait=True, **more):
        self.test = test
        self.maps = test.folder / "progress"
        self.maps.mkdir(exist_ok=True)
        for old in self.maps.iterdir():
            old.unlink()
        # A batch system signals all processes of a job; here the launcher is one of a session of its own.
        self.launcher = subprocess.Popen(test.launch(test.program("progress"), str(self.maps), way), cwd=test.folder,
                                         env=test.environment(**test.preloaded(MPISTAIR_INGEST="0", **more)),
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                         start_new_session=True)
        if wait:
            self.wait_for_steps()

    def read(self, rank):
        """[steps done, process id, times of the steps] as of now."""
        path = self.maps / str(rank)
        data = path.read_bytes() if path.exists() else b""
        return struct.unpack(f"={len(data) // 8}q", data) if len(data) == 8 * (2 + RING) else (0, 0)

    def wait_for_steps(self, steps=1, limit_s=60):
        until = time.monotonic() + limit_s
        while not all(self.read(rank)[0] >= steps for rank in range(self.test.ranks)):
            if time.monotonic() > until or self.launcher.poll() is not None:
                self.end()
                job.fail(f"progress has not done its first steps within {limit_s} s")
            time.sleep(0.01)

    def send(self, number, ranks=None):
        """Sends a signal to ranks (all); returns CLOCK_MONOTONIC right before."""
        pids = [self.read(rank)[1] for rank in (range(self.test.ranks) if ranks is None else ranks)]
        now_ns = time.monotonic_ns()
        for pid in pids:
            try:
                if self._is_ours(pid):
                    os.kill(pid, number)
            except ProcessLookupError:
                pass  # the launcher was faster
        return now_ns

    def _is_ours(self, pid):
        try:
            return pid > 0 and str(self.maps).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False

    def kill_all(self, limit_s=10):
        """Kills its processes, also those that have not yet said who they are, until there is none."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            left = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and self._is_ours(int(entry.name))]
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        job.fail(f"processes of the job live {limit_s} s after SIGKILL")

    def end(self):
        """Waits for the launcher; kills what is left. Returns its exit status and stderr."""
        try:
            _, stderr = self.launcher.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self.launcher.kill()
            _, stderr = self.launcher.communicate()
        return self.launcher.returncode, stderr.decode(errors="replace")

    def expect_recorded(self, killed_ns):
        """Every operation that ended 1 ms before the kill is in the trace as complete, or, of a recording that used up its room, in the
        totals; returns for each rank (steps that the program counted, of those 1 ms before the kill, steps that the trace has)."""
        found = []
        counted = ("count(*) FROM operation WHERE complete_ns IS NOT NULL AND" if self.test.value("SELECT detail FROM run") == "all" else
                   "sum(calls) FROM total WHERE direction IS NOT NULL AND")
        for rank in range(self.test.ranks):
            done, _, *times = self.read(rank)
            kept = times[:done] if done <= RING else times
            early = done - sum(t > killed_ns - 1000000 for t in kept)
            n = dict(self.test.query(f"SELECT direction, {counted} rank = ? GROUP BY direction", rank))
            recorded = min(n.get("send", 0), n.get("receive", 0))
            if recorded < early:
                job.fail(f"rank {rank}: {early} steps ended 1 ms before the kill, the trace has {n}")
            found.append((done, early, recorded))
        return found
