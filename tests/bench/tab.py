"""tab: what a Tab behind `runner serv` costs in bash, zsh and fish, beside the program that it asks, called by the same shell.

  tab.py SHELL RUNNER WORD    processor time of a Tab there in this folder, over that of the program alone
"""

import os
import shutil
import sys

sys.dont_write_bytecode = True  # the checkout stays as it is

from builds import More, Row, cases_of, measured_table, not_installed  # noqa: E402
from measure import Case, clean_environment, interleaved, quick  # noqa: E402

MORE = quick(10, 1)
ROUNDS, SECONDS = 9, 40
# What each shell does so many times: a Tab, and the program alone. What it prepares comes first.
SHELLS = {
    "bash": ["source <(runner completion bash); COMP_WORDS=(runner {word}) COMP_CWORD=1; for ((i = 0; i < {count}; i++)); do {what}; done",
             "_runner_completion",
             "found=$(command runner completion bash --format tsv -- {word} 2>/dev/null </dev/null)"],
    # of its editor, since its completion works nowhere else
    "zsh": ["autoload -Uz compinit; compinit -D -u; source <(runner completion zsh); unsetopt autolist\n"
            "zle-line-init() {{ for ((i = 0; i < {count}; i++)); do {what}; done; exit 0 }}; zle -N zle-line-init",
            "BUFFER='runner {word}' CURSOR=$#BUFFER; zle complete-word",
            "found=$(command runner completion zsh --format tsv -- {word} 2>/dev/null </dev/null)"],
    "fish": ["runner completion fish | source\nfor i in (seq {count})\n{what}\nend",
             "set -l found (complete -C 'runner {word}')",
             "set -l found (command runner completion fish --format plain -- {word} 2>/dev/null </dev/null)"],
}
UNDER_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


def case(shell, script, path, env):
    """A shell that runs a script, and nothing of its user's."""
    if shell != "zsh":
        return Case(shell, [shell, {"bash": "--norc", "fish": "--no-config"}[shell], "-c", script], path, env)
    home = os.path.join(env["HOME"], f"zsh-{len(os.listdir(env['HOME']))}")
    os.mkdir(home)
    with open(os.path.join(home, ".zshrc"), "w", encoding="utf-8") as file:
        file.write(script)
    return Case(shell, ["timeout", "60", "python3", "-c", UNDER_A_TERMINAL, "zsh", "-d", "-i"], path, {**env, "ZDOTDIR": home, "TERM": "xterm"})


def both(shell, runner, word, path, env, home):
    """A Tab, and the program alone, of a runner that the shell finds by its name."""
    program = os.path.join(home, "bin")
    os.makedirs(program, exist_ok=True)
    if not os.path.lexists(os.path.join(program, "runner")):
        os.symlink(runner, os.path.join(program, "runner"))
    env = {**env, "HOME": home, "PATH": f"{program}:{env['PATH']}"}
    around, *whats = SHELLS[shell]
    return [More(*(case(shell, around.format(word=word, count=count, what=what.format(word=word)), path, env) for count in (1, 1 + MORE)), MORE)
            for what in whats]


def table(builds, path, env, folder):
    """Of a project that lists know."""
    rows = []
    for shell in filter(shutil.which, SHELLS):
        tabs, alone = {}, {}
        for build, runner in builds.path.items():
            tabs[build], alone[build] = both(shell, runner, "serv", path, env(build), os.path.join(folder, "shells", build))
        rows.append(Row(f"a Tab in {shell}", tabs, {"the program alone": alone}))
    yield ("A Tab as the shells do it, with what they make of the candidates: bash by the function of the script, zsh in its editor (`_describe`), "
           "fish by `complete -C`.")
    yield ""
    yield from measured_table(rows, ROUNDS, SECONDS)
    yield from not_installed([f"`{shell}`" for shell in SHELLS if not shutil.which(shell)])


def main(shell, runner, word):
    tab, alone = both(shell, os.path.abspath(runner), word, ".", clean_environment(), os.environ["HOME"])
    interleaved(cases_of(tab) + cases_of(alone), 5, 10)
    print(f"{tab.median_cpu() / alone.median_cpu():.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
