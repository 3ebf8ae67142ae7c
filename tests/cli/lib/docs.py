"""What the documentation says against what the source says.

docs.py CHECK      one of: blocks json links citations version tables reference manual

Each check prints what is wrong, with its place, and fails; the examples are
docs_run.py's.
"""
import json
import re
import sys

sys.dont_write_bytecode = True  # the checkout stays as it is
from docs_pages import LANGUAGES, PAGES, ROOT, anchors, blocks, links, table_after

REFERENCE = ROOT / "docs" / "reference"
MANUAL = ROOT / "docs" / "runner.1"


def without_comments(path):
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".lua" else re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def source(*patterns):
    """The text of all files that match, without C comments."""
    return "\n".join(without_comments(path) for pattern in patterns for path in sorted(ROOT.glob(pattern)))


# --- codes.def -----------------------------------------------------------------------

def registry(macro):
    """The rows of codes.def: lists of arguments, text without its quotes."""
    rows = re.findall(rf"^{macro}\((.*)\)$", source("src/common/codes.def"), flags=re.M)
    return [[cell.strip().strip('"') for cell in re.findall(r'\s*("[^"]*"|[^,]+)', row)] for row in rows]


def exit_rows():
    for name, standard, classic, retryable, effects, description in registry("EXIT"):
        both = "130, 143" if name == "CANCELLED" else standard
        yield [both, name, both if name == "CANCELLED" else classic, retryable.lower(), effects.lower(), description]


def plain(cells):
    return [cell.replace("`", "") for cell in cells]


def check_tables():
    """Every row of codes.def stands in the reference, with its numbers and its words."""
    exits = [plain(row) for row in table_after(REFERENCE / "exit-codes.md", "generated: exit-codes") or []]
    codes = [plain(row)[:2] for row in table_after(REFERENCE / "errors.md", "generated: error-codes") or []]
    wrong = [f"exit-codes.md has another row for {row[0]}: run make docs" for row in registry("EXIT")
             if [row[1], row[0], row[2], row[3].lower(), row[4].lower(), row[5]] not in exits]
    return wrong + [f"errors.md has another row for {row[0]}: run make docs" for row in registry("CODE")
                    if row[:2] not in codes]


# --- form ----------------------------------------------------------------------------

def check_blocks():
    return [f"{b.place}: a block of {b.language!r}: write one of {', '.join(sorted(LANGUAGES))}"
            for page in PAGES for b in blocks(page) if b.language and b.language not in LANGUAGES]


def check_json():
    wrong = []
    for block in (b for page in PAGES for b in blocks(page) if b.language == "json"):
        try:
            json.loads(block.text)
        except ValueError as e:
            wrong.append(f"{block.place}: {e}")
    return wrong


def check_links():
    wrong = []
    for page in PAGES:
        for link in links(page):
            name, _, anchor = link.partition("#")
            target = page if not name else (page.parent / name).resolve()
            if not target.exists():
                wrong.append(f"{page.relative_to(ROOT)}: the link {link} leads nowhere")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{page.relative_to(ROOT)}: {target.name} has no heading #{anchor}")
    return wrong


# --- citations of the design -----------------------------------------------------------

PLACES = ("src", "lua", "commands", "tests", "docs", ".ci", "Makefile", "README.md")
NOT_OURS = {"corpus", "crashes", "node_modules", "__pycache__"}  # inputs of fuzzers, modules of peers


def texts():
    """Every file that somebody wrote, with its path from the root."""
    for place in PLACES:
        for path in sorted([ROOT / place, *(ROOT / place).rglob("*")]):
            if path.is_file() and not NOT_OURS & set(path.relative_to(ROOT).parts):
                yield path.relative_to(ROOT), path.read_text(encoding="utf-8", errors="replace")


def check_citations():
    """A comment names the section that holds its reason, and never by a number."""
    known, wrong, cited = anchors(ROOT / "docs" / "design.md"), [], 0
    for path, text in texts():
        for anchor in re.findall(r"docs/design\.md#([\w-]+)", text):
            cited += 1
            if anchor not in known:
                wrong.append(f"{path}: docs/design.md has no heading #{anchor}")
        if re.search(r"design\W{1,8}§", text, flags=re.I):
            wrong.append(f"{path}: cites a section of the design by number; cite docs/design.md#…")
    if not cited:
        wrong.append("nothing cites docs/design.md: this test looks at the wrong place")
    return wrong


# --- the version -----------------------------------------------------------------------

def check_version():
    """base.h is the one place; what shows a version shows that one."""
    version = re.search(r'RUNNER_VERSION "([\d.]+)"', source("src/common/base.h")).group(1)
    wrong = [f"{page.name}: an example shows version {shown}, this is {version}" for page in PAGES
             for shown in re.findall(r'"tool_version":"([^"…]+)"', page.read_text(encoding="utf-8")) if shown != version]
    changes = (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[?{re.escape(version)}\]?( |$)", changes, flags=re.M):
        wrong.append(f"CHANGELOG.md has no section for version {version}")
    return wrong


# --- the reference --------------------------------------------------------------------

FLAG_ROWS = ("lua/declare/flags.lua", "lua/declare/contract/*.lua")


def flags():
    return ["--" + name.replace("_", "-") for name in re.findall(r'\{ name = "(\w+)"', source(*FLAG_ROWS))]


def flag_variables():
    return re.findall(r' env = "(\w+)"', source(*FLAG_ROWS))


def ctx_members():
    text = source("lua/ctx/methods.lua") + source("lua/ctx/context.lua")
    lazy = re.search(r"local LAZY = \{(.*?)\}", text, flags=re.S).group(1)
    methods = re.findall(r"^function Context:([a-z]\w*)", text, flags=re.M) + re.findall(r"(\w+) =", lazy)
    made = re.search(r"function M\.new.*?setmetatable\(\{(.*?)\}, meta\)", text, flags=re.S).group(1)
    fields = [f for f in re.findall(r"(\w+) = ", made) if not f.startswith("_")]
    fields += re.findall(r"^function FIELDS\.(\w+)", text, flags=re.M)
    return [f"ctx:{m}(" for m in methods] + [f"`{f}`" for f in fields]


def keys_of(text, start, end):
    body = re.search(start + r"(.*?)" + end, text, flags=re.S).group(1)
    return [f"`{k}`" for k in re.findall(r"\b([a-z_]+) = ", body)]


def declaration_keys():
    return (keys_of(source("lua/declare/command.lua"), r"command = \{", r"\n\t\},")
            + [f"`{k}`" for k in re.findall(r"^\t\t(\w+) = \{ accept", source("lua/declare/contract/*.lua"), flags=re.M)]
            + keys_of(source("lua/declare/arguments.lua"), r"local RULES = \{", r"\n\}")
            + keys_of(source("lua/declare/codes.lua"), r"local RULES = \{", r"\n\}")
            + keys_of(source("lua/declare/policy.lua"), r"local KEYS = \{", r"\n\}"))


def project_keys():
    text = source("lua/project/project.lua")
    limits = re.search(r"for _, name in ipairs \{(.*?)\} do\s+PROJECT", text, flags=re.S).group(1)
    return keys_of(text, r"local PROJECT = \{", r"\n\}") + [f"`{k}`" for k in re.findall(r'"(\w+)"', limits)]


def spec_keys():
    """What ctx:run, ctx:spawn, ctx:pipeline, ctx:http, ctx:lock and ctx:prompt take."""
    proc = source("lua/ctx/process_spec.lua")
    keys = re.findall(r"[{,]\s*([a-z_]+) = [a-zM.]+(?=[,\s}])", re.search(r"\nlocal STAGE.*?\n\}\n", proc, flags=re.S).group(0))
    keys += re.findall(r"^\t([a-z_]+) = function", proc, flags=re.M)
    keys += re.findall(r"^\t([a-z_]+) = \{ \"", source("lua/ctx/http_request.lua"), flags=re.M)
    keys += [k.strip("`") for k in keys_of(source("lua/ctx/lock.lua"), r"local KNOWN = \{", r"\n\}")]
    keys += re.findall(r"(\w+) = true", re.search(r"local PROMPT = \{(.*?)\}", source("lua/ctx/interaction.lua")).group(1))
    return [k for k in keys if k not in ("stage", "run", "spawn", "pipeline")]


def module_functions():
    fs = re.findall(r'\{ "(\w+)", fs_', source("src/bindings/fs.c"))
    js = re.search(r"luaL_Reg functions\[\] = \{(.*?)\};", source("src/bindings/json.c"), flags=re.S).group(1)
    return [f"fs.{f}(" for f in fs] + [f"json.{f}(" for f in re.findall(r'\{ "(\w+)"', js)] + ["json.null"]


def variables():
    """Every variable that the source reads or sets, and the flags' own."""
    code = source("src/*/*.c", "lua/**/*.lua")
    names = re.findall(r'(?:getenv|setenv|is_set)[ (]+"([A-Z_]+)"', code)
    names += [n for n in re.findall(r'"(RUNNER_[A-Z_]+)"', code)]
    names += re.findall(r'"([A-Z]+_PROXY|[A-Z_]*CA_BUNDLE|SSL_CERT_\w+)"', source("lua/ctx/http_url.lua"))
    return sorted({n for n in names if not n.endswith("_")})  # RUNNER_VALUE_1 … are the runner's own


def warnings():
    c = "".join(re.findall(r"run_warn\w*\((.*?)\);", source("src/supervisor/*.c"), flags=re.S))
    lua = re.findall(r'warn\(\s*"([A-Z_]+)"', source("lua/**/*.lua"))
    return sorted(set(re.findall(r'"([A-Z]+_[A-Z_]+|SURVIVORS)"', c) + lua))


def strategies_and_jitters():
    return re.findall(r'^(?:BACKOFF|JITTER)\(\w+,\s*"(\w+)"\)', source("src/common/names.def"), flags=re.M)


def envelope_keys():
    """Every property that the schema names."""
    schema = json.loads((ROOT / "docs" / "schema" / "envelope.json").read_text(encoding="utf-8"))
    found = set(schema["properties"])
    for definition in schema["definitions"].values():
        found |= set(definition.get("properties", {}))
    return [key for key in sorted(found) if key not in ("file", "line")]


THINGS = {
    "flag": flags, "ctx member": ctx_members, "declaration key": declaration_keys, "runner.lua key": project_keys,
    "spec key": spec_keys, "module function": module_functions, "variable": variables, "warning": warnings,
    "strategy or jitter": strategies_and_jitters, "envelope key": envelope_keys,
    "exit entry": lambda: [row[0] for row in registry("EXIT")],
    "error code": lambda: [row[0] for row in registry("CODE")],
}


def mentions(text, thing):
    """As a word of its own, not as a part of a longer one."""
    before = r"(?<![\w-])" if re.match(r"[\w-]", thing) else ""
    after = r"(?![\w-])" if re.search(r"\w$", thing) else ""
    return re.search(before + re.escape(thing) + after, text)


def check_reference():
    text, wrong = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md"))), []
    for kind, list_them in THINGS.items():
        things = list_them()
        if not things:
            wrong.append(f"found no {kind} in the source: this test looks at the wrong place")
        wrong += [f"docs/reference does not mention the {kind} {thing}" for thing in things if not mentions(text, thing)]
    return wrong


def check_manual():
    text = re.sub(r"\\-", "-", MANUAL.read_text(encoding="utf-8"))
    named = set(re.findall(r"^\.It.*?Fl Fl ([\w-]+)", text, flags=re.M))
    wrong = [f"runner.1 has no .It Fl Fl {flag[2:]}" for flag in flags() if flag[2:] not in named]
    wrong += [f"runner.1 does not mention {name}" for name in variables() + [r[0] for r in registry("EXIT")]
              if not mentions(text, name)]
    documented = re.findall(r"^\.It Li ([\d, ]+)\n\.Sy (\w+)", text, flags=re.M)
    if documented != [(row[0], row[1]) for row in exit_rows()]:
        wrong.append("the exit codes of runner.1 differ from codes.def")
    return wrong


CHECKS = {"blocks": check_blocks, "json": check_json, "links": check_links,
          "citations": check_citations, "version": check_version, "tables": check_tables,
          "reference": check_reference, "manual": check_manual}


def main():
    wrong = CHECKS[sys.argv[1]]()
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
