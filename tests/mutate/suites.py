"""Which test files may find a mutant, and in which order: those of the same name, those of
the same room, those of the subject, then the others; of equals, what costs least for what
it has found so far.

A suite is a test file by its name in the checkout: tests/unit/test_buf.c,
tests/lua/core/errors_spec.lua, tests/cli/http.bats.
"""
import glob
import os
import re

# The black-box tests of a subject; the first row that matches the path.
SUBJECTS = (
    (r"src/common/(remover|way|owner)", "neighbour bystanders trust"),
    (r"src/common/(codes|names)", "context truth"),
    (r"src/common/(json|buf)", "output input context"),
    (r"src/common/http_date", "http"),
    (r"src/common/", "output input caller seeds"),
    (r"src/engine/(group|limits)", "limits_kernel limits"),
    (r"src/engine/gate", "confine_network"),
    (r"src/engine/shepherd", "scheduler workflow_durable"),
    (r"src/engine/(policy|hint|outcome)", "retries proc"),
    (r"src/engine/", "process process_limits caller limits proc threads"),
    (r"src/supervisor/resource_usage", "limits_kernel limits"),
    (r"src/supervisor/pause", "terminal"),
    (r"src/supervisor/(signals|entry)", "caller process terminal"),
    (r"src/supervisor/(notice|outlet|warnings)", "terminal output retries"),
    (r"src/supervisor/", "output retries input process process_results process_limits process_attempts caller limits declared"),
    (r"src/worker/(trust|source|loaders|modules)", "trust modules discovery declared"),
    (r"src/worker/(guard|cancel|adopted|shell|entry)", "process process_limits threads limits caller modules"),
    (r"src/worker/(memory|resource_limits)", "limits limits_kernel modules"),
    (r"src/worker/", "context modules maths threads process process_results declared"),
    (r"src/bindings/fs", "context truth deploy deploy_source trust"),
    (r"src/bindings/session_dir", "context process_attempts deploy"),
    (r"src/bindings/http", "http process"),
    (r"src/bindings/json", "output context"),
    (r"src/bindings/proc", "proc truth scheduler process"),
    (r"src/bindings/regex", "input declared"),
    (r"src/bindings/sqlite", "sqlite workflow_store"),
    (r"src/bindings/tty", "terminal"),
    (r"commands/", "deploy deploy_source seeds nginx"),
    (r"lua/commands/workflow", "workflow workflow_store workflow_terminal workflow_durable"),
    (r"lua/workflow/import", "workflow_import"),
    (r"lua/workflow/executors|lua/workflow/(run/(chunk|placed)|store/(journal|placements))", "placed executors"),
    (r"lua/workflow/run/(worktree|merge|git|left_)", "workflow_worktree"),
    (r"lua/workflow/\w+/(approvals|decision)|lua/core/person", "workflow_approve"),
    (r"lua/workflow/run/concurrency", "workflow_concurrency"),
    (r"lua/workflow/(run/last_steps|file/(typed_vars|inner_))", "workflow_parts"),
    (r"lua/(ctx|declare|project)/tasks?[._]", "tasks"),
    (r"lua/mcp/", "mcp mcp_tasks mcp_waits"),
    (r"lua/jobs/", "jobs housekeeping"),
    (r"lua/state/throttle", "hosts together"),
    (r"lua/core/portable", "tool_schemas"),
    (r"lua/ctx/dry_run", "http housekeeping"),
    (r"lua/workflow/expr", "workflow_values workflow workflow_shell"),
    (r"lua/workflow/file", "workflow workflow_values workflow_steps workflow_shell"),
    (r"lua/workflow/kinds", "workflow_steps workflow workflow_shell workflow_seed"),
    (r"lua/workflow/report", "workflow workflow_terminal workflow_seed workflow_store"),
    (r"lua/workflow/", "workflow workflow_steps workflow_durable workflow_doubt workflow_store workflow_seed"),
    (r"lua/state/", "workflow_store workflow_durable workflow"),
    (r"lua/task/", "scheduler workflow"),
    (r"lua/core/yaml", "workflow workflow_values"),
    (r"lua/core/(mask|start_failure|command_line|raised|returned)", "truth proc context workflow_values"),
    (r"lua/(tools|commands|project)/(help|completion|wrap|catalog|locate|project)", "help discovery declared lint"),
    (r"lua/(tools|commands|declare)/(lint|annot|types)", "lint types declared"),
    (r"lua/commands/new|lua/tools/new_file", "new discovery"),
    (r"lua/output/|lua/tools/", "output limits terminal context help"),
    (r"lua/declare/", "declared input lint help"),
    (r"lua/project/", "declared input output discovery limits truth"),
    (r"lua/ctx/http", "http truth retries"),
    (r"lua/ctx/(proc|spawn)", "proc truth context"),
    (r"lua/ctx/(retry|lock|progress|interaction)", "retries context terminal truth"),
    (r"lua/ctx/", "context truth proc"),
    (r"lua/boot", "output truth process_results process_limits context declared"),
    (r"", "context truth output input declared retries"),
)
# What takes minutes, or measures the build or the tests instead of the program.
NEVER = re.compile(r"tests/cli/(build|docs|mutate|nginx)\.bats|reference_spec|borders_spec")


class Suites:
    """root: a tree. seconds: { suite: what it takes }, as far as known. found: { (room, suite):
    how many mutants it has found }."""

    def __init__(self, root):
        self.root = root
        patterns = ("tests/unit/test_*.c", "tests/lua/**/*_spec.lua", "tests/cli/*.bats")
        files = (f for p in patterns for f in glob.glob(os.path.join(root, p), recursive=True))
        names = sorted(os.path.relpath(f, root) for f in files)
        self.all = [n for n in names if not NEVER.search(n)]
        self.seconds, self.found = {}, {}

    def takes(self, suite):
        """Seconds; a guess for what nobody has measured yet."""
        return self.seconds.get(suite) or {"unit": 0.3, "lua": 0.5, "cli": 5}[suite.split("/")[1]]

    def cost(self, path):
        return lambda suite: self.takes(suite) / (1 + self.found.get((room(path), suite), 0))

    def reach(self, suite, path):
        """Can this kind of test run that source at all?"""
        kind = suite.split("/")[1]
        if path.startswith("src/supervisor/"):
            return kind != "lua"
        if not re.match("src/(common|engine)/", path) and kind == "unit":
            return False
        return kind != "lua" or not path.startswith("commands/") or "releases" in suite

    def near(self, path):
        """Lists of suites, the nearest first; they overlap."""
        stem = os.path.splitext(os.path.basename(path))[0]
        place = os.path.dirname(path)
        subject = next(names for pattern, names in SUBJECTS if re.match(pattern, path)).split()
        named = [s for s in self.all if stem_of(s) == stem]
        yield sorted(named, key=lambda s: s.split("/")[-2] != os.path.basename(place))
        yield [s for s in self.all if stem.startswith(stem_of(s)) or stem_of(s).startswith(stem)]
        mirror = "tests/" + (place if place.startswith("lua") else place.replace("src/", "lua/"))
        near = [s for s in self.all if s.startswith((mirror + "/", "tests/unit/"))]
        yield [s for s in near if self.cost(path)(s) < 1]
        yield [f"tests/cli/{name}.bats" for name in subject]
        yield near
        yield [s for s in self.all if s.startswith("tests/lua/") and self.cost(path)(s) < 1]
        yield self.all

    def order(self, path, budget_s, passed=()):
        """The suites for a source but those in `passed`, as many as fit into budget_s seconds."""
        chosen, spent = list(passed), 0
        for group in self.near(path):
            for suite in sorted(group, key=self.cost(path)):
                fits = spent + self.takes(suite) <= budget_s
                if suite in self.all and suite not in chosen and self.reach(suite, path) and fits:
                    chosen.append(suite)
                    spent += self.takes(suite)
        return chosen[len(passed):]


def stem_of(suite):
    return re.sub(r"^test_|_spec\.lua$|\.(c|bats)$", "", os.path.basename(suite))


def room(path):
    """The room of a source, as .ci/docs/layers.lua cuts them."""
    parts = path.split("/")
    if parts[0] == "commands" or len(parts) < 3:
        return path if parts[0] != "commands" else "commands"
    return "/".join(parts[:3] if parts[1] == "workflow" and len(parts) > 3 else parts[:2])
