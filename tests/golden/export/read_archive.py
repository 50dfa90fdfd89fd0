"""Prints what python3-otf2 reads in an archive: the resolution, then the events, a line of JSON each; without an argument
nothing, where it can be loaded. libotf2 takes memory for zero that need not be, and crashes now and then where some was
freed before: one archive a process, and a process that has not done anything else.

usage: python3 -S read_archive.py [ANCHOR]
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # of Debian's package, also for another Python
import json

import otf2

FIELDS = ("request_id", "receiver", "sender", "msg_tag", "msg_length", "region")


def main():
    for anchor in sys.argv[1:]:
        with otf2.reader.open(anchor) as trace:
            print(trace.timer_resolution)
            for location, event in trace.events:
                fields = {name: getattr(event, name) for name in FIELDS if hasattr(event, name)}
                if "region" in fields:
                    fields["region"] = fields["region"].name
                print(json.dumps([location.group.name, location.name, event.time, type(event).__name__, fields]))


main()
