"""The pages of the documentation as tests see them: fenced blocks, links, anchors,
tables. Reads and judges nothing else."""
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# console: run and compared. lua, python, sh and yaml with a path in their first line are
# written there; others show a part. json is parsed. text is for what can't be run.
LANGUAGES = {"console", "lua", "python", "sh", "yaml", "json", "text"}

FENCE = re.compile(r"^```(.*)$")
USES = re.compile(r"^<!-- uses: ([\w./-]+\.md) -->$", flags=re.M)
FILE_LINE = re.compile(r"^(?:--|#) ((?:commands/|lib/|tests/)[\w/-]+\.lua|(?:runner|tasks)\.lua|[\w-]+\.(?:py|sh|yaml)|justfile|Makefile)$")


class Block:
    def __init__(self, page, line, language):
        self.page, self.line, self.language, self.lines = page, line, language, []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def file(self):
        """Where a reader would save it; None for a part of a file."""
        named = self.lines and FILE_LINE.match(self.lines[0])
        return named.group(1) if named and self.language in ("lua", "python", "sh", "yaml") else None

    @property
    def place(self):
        return f"{os.path.relpath(self.page, ROOT)}:{self.line}"


def blocks(page):
    out, current = [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if fence and current:
            out.append(current)
            current = None
        elif fence:
            current = Block(page, number, fence.group(1).strip())
        elif current:
            current.lines.append(line)
    if current:
        raise SystemExit(f"{current.place}: the block is never closed")
    return out


def used_pages(page):
    """The pages whose files the examples of this one need: `<!-- uses: PAGE.md -->`."""
    return [page.parent / name for name in USES.findall(prose(page))]


def prose(page):
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def anchors(page):
    """What '#…' may follow the page's name: its headings as GitHub spells them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), flags=re.M):
        kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(kept.replace(" ", "-"))
    return found


def links(page):
    return [t for t in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if not re.match(r"[a-z]+:", t)]


def table_after(page, marker):
    """The rows of the table behind `<!-- marker -->` as lists of cells, without its
    head; None when the page has no such table."""
    at = re.search(rf"<!-- {re.escape(marker)} -->\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"))
    if not at:
        return None
    rows = at.group(1).splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
