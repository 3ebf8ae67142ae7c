// A dispatcher as one writes it first: a process of `node tool.js` for each line of a file.
const { readFileSync } = require("node:fs");
const { spawnSync } = require("node:child_process");
const tool = require("node:path").join(__dirname, "tool.js");

for (const line of readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean)) {
  const { _cmd } = JSON.parse(line);
  process.stdout.write(spawnSync(process.execPath, [tool, _cmd]).stdout);
}
