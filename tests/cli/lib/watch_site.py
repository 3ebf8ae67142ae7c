"""Ask a URL again and again, as visitors do, until a file appears.

watch_site.py URL UNTIL    prints each different answer once, as "STATUS BODY", sorted.
                           The file UNTIL.begun appears after the first answer; the last
                           question is asked after UNTIL has appeared.
"""
import os
import sys
import time
import urllib.error
import urllib.request

LONGEST = 150  # s


def ask(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return f"{answer.status} {answer.read().decode().strip()}"
    except urllib.error.HTTPError as e:
        return f"{e.code} error"
    except OSError as e:
        return f"none {e}"


def main():
    url, until = sys.argv[1:3]
    seen, give_up = {ask(url)}, time.monotonic() + LONGEST
    open(until + ".begun", "w").close()
    while not os.path.exists(until) and time.monotonic() < give_up:
        seen.add(ask(url))
    seen.add(ask(url))
    print("\n".join(sorted(seen)))


main()
