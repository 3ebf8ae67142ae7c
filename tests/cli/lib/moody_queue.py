"""batch_queue.py in a bad mood: moody_queue.py submit|states|cancel DIR SEED does as batch_queue.py does, but each call may
also fail before or after it has done so, answer nothing, half, noise, or something that only looks like an answer."""
import json
import os
import random
import subprocess
import sys

verb, where, seed = sys.argv[1:4]
with open(os.path.join(where, ".calls"), "a+", encoding="utf-8") as calls:
    calls.write(verb + "\n")
    calls.seek(0)
    count = len(calls.readlines())
rng = random.Random(f"{seed} {count} {verb}")
mood = rng.choice(["well"] * 6 + ["refuses before", "fails after", "says nothing", "half", "noise", "strange", "killed"])
request = sys.stdin.read()

if mood == "refuses before":
    sys.exit("not now")
answer = subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "batch_queue.py"), verb, where],
                        input=request, stdout=subprocess.PIPE, text=True, check=True).stdout
if mood == "fails after":
    print(answer)
    sys.exit(3)
if mood == "killed":
    os.kill(os.getpid(), 9)
if mood == "half":
    answer = answer[:rng.randrange(len(answer))]
elif mood == "noise":
    answer = "warning: the moon is full\n" + answer
elif mood == "says nothing":
    answer = ""
elif mood == "strange" and verb == "states":
    value = json.loads(answer)
    for placement in value["placements"].values():
        for task in placement["tasks"]:
            placement["tasks"][task] = rng.choice([{"state": "lost"}, {"state": "ended"}, 7, None, placement["tasks"][task]])
    answer = json.dumps(value)
elif mood == "strange":
    answer = json.dumps({"job": 5, "placements": []})
sys.stdout.write(answer)
