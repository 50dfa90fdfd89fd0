"""Prints what python3-otf2 reads in an archive: the resolution, then the events, a line of JSON each. Exits with 77 where it
is not installed; without an argument that is all. libotf2 takes memory for zero that need not be, and crashes now and then
where some was freed before: so this reads one archive, and does nothing else before.

usage: python3 -S read_archive.py [ANCHOR]
"""
import json
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # of Debian's package, also for another Python
try:
    import otf2
except ModuleNotFoundError as missing:
    if missing.name != "otf2":
        raise
    sys.exit(77)

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
