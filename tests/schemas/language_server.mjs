// language_server.mjs FILE [LINE COLUMN]…: what the language server for YAML says of a file: its diagnostics, and at
// each place (from 0) its hover and its completions. One JSON object on stdout. The schema is the one that
// the modeline of the file names; the server gets no settings but that it shall not look for others.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import rpc from "vscode-jsonrpc/node.js";

const [file, ...places] = process.argv.slice(2);
const server = fileURLToPath(new URL("node_modules/yaml-language-server/bin/yaml-language-server", import.meta.url));
const child = spawn(process.execPath, [server, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin));
const SETTINGS = { yaml: { schemaStore: { enable: false }, validate: true, hover: true, completion: true }, http: {} };

const text = readFileSync(file, "utf8");
const uri = pathToFileURL(file).href;
const diagnosed = new Promise((resolve) => {
	connection.onNotification("textDocument/publishDiagnostics", (message) => message.uri === uri && resolve(message.diagnostics));
});
connection.onRequest("workspace/configuration", ({ items }) => items.map(({ section }) => SETTINGS[section] ?? {}));
connection.onRequest("client/registerCapability", () => null);
connection.listen();
await connection.sendRequest("initialize", {
	processId: process.pid, rootUri: null, workspaceFolders: null,
	capabilities: { textDocument: { publishDiagnostics: {}, hover: {}, completion: {} }, workspace: { configuration: true } },
});
connection.sendNotification("initialized", {});
connection.sendNotification("workspace/didChangeConfiguration", { settings: SETTINGS });
connection.sendNotification("textDocument/didOpen", { textDocument: { uri, languageId: "yaml", version: 1, text } });

const out = { diagnostics: (await diagnosed).map((d) => ({ line: d.range.start.line, message: d.message })), places: [] };
for (let i = 0; i < places.length; i += 2) {
	const at = { textDocument: { uri }, position: { line: Number(places[i]), character: Number(places[i + 1]) } };
	const hover = await connection.sendRequest("textDocument/hover", at);
	const completion = await connection.sendRequest("textDocument/completion", at);
	out.places.push({ hover: hover?.contents?.value ?? "", completions: (completion?.items ?? []).map((item) => item.label) });
}
console.log(JSON.stringify(out));
await connection.sendRequest("shutdown");
await connection.sendNotification("exit");
connection.dispose();
