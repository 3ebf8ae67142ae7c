"""peers: where the programs are that runner is compared with. npm brings those of package.json, and the SDK of MCP
from tests/mcp; Debian the others. What is missing is named on the page.
"""

import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "peers")
MCP = os.path.join(os.path.dirname(HERE), "mcp")


def pinned(folder):
    with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
        package = json.load(file)
    return [*package["dependencies"], *package.get("optionalDependencies", {})]


def install():
    """What npm brings; nothing where it is there, or where there is no npm."""
    for folder in HERE, MCP:
        there = all(os.path.isdir(os.path.join(folder, "node_modules", name)) for name in pinned(folder))
        if not there and shutil.which("npm"):
            try:
                subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, timeout=240, check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                pass


def module(*names):
    """The path of something that npm installed here; None where it isn't."""
    path = os.path.join(HERE, "node_modules", *names)
    return path if os.path.exists(path) else None


def just():
    return module("rust-just-linux-x64", "bin", "just") or shutil.which("just")


def task():
    return shutil.which("task") or shutil.which("go-task")


def mise():
    return module("@jdxcode", "mise-linux-x64", "bin", "mise") or shutil.which("mise")


def of_mise(folder, env):
    """The environment in which mise trusts the file of a folder, and asks no network."""
    return {**env, "MISE_TRUSTED_CONFIG_PATHS": folder, "MISE_OFFLINE": "1"}
