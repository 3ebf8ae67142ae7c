// caller: an agent that one of the official SDKs is: it starts a server and makes calls, for tests of other folders.
//
//   caller.mjs sdk|client WORDS CALLS    WORDS: the server's command line, CALLS: [{"name": …, "arguments": …}, …], as JSON;
//                                        a line of JSON for each call: its result, or {"error": …}

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";

const [way, words, calls] = process.argv.slice(2);
const info = { name: `${way}-agent`, version: "1.0.0" };
const client = way === "sdk" ? new Client1(info) : new Client2(info, { versionNegotiation: { mode: "auto" } });
const Transport = way === "sdk" ? Transport1 : Transport2;
const [command, ...args] = JSON.parse(words);

await client.connect(new Transport({ command, args, env: process.env, stderr: "ignore" }));
for (const call of JSON.parse(calls)) {
	try {
		console.log(JSON.stringify(call.list ? await client.listTools() : await client.callTool(call)));
	} catch (e) {
		console.log(JSON.stringify({ error: { code: e.code, message: e.message, data: e.data } }));
	}
}
await client.close();
