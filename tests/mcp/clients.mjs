// clients: the official clients of MCP against `runner mcp serve`, in every era that they speak.
// Prints TAP. Run by run.py, in a folder of its own with the commands that it calls; RUNNER names
// the program.

import fs from "node:fs";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const INFO = { name: "runner-tests", version: "1.0.0" };
const ASKS = { capabilities: { elicitation: { form: {} } } };

const ways = {
	"sdk 1.x": { make: (o) => new Client1(INFO, o), Transport: Transport1, asked: (c, f) => c.setRequestHandler(ElicitRequestSchema, f) },
	"client 2.x, legacy": { ...client2("legacy") },
	"client 2.x, auto": { ...client2("auto"), modern: true },
	"client 2.x, 2026-07-28": { ...client2({ pin: "2026-07-28" }), modern: true },
};

function client2(mode) {
	return {
		make: (o) => new Client2(INFO, { ...o, versionNegotiation: { mode } }), Transport: Transport2,
		asked: (c, f) => c.setRequestHandler("elicitation/create", f),
	};
}

// --- a test ------------------------------------------------------------------------------

let count = 0;

async function test(name, body) {
	count += 1;
	try {
		await body();
		console.log(`ok ${count} - ${name}`);
	} catch (e) {
		console.log(`not ok ${count} - ${name}`);
		console.log(String(e.stack ?? e).replace(/^/gm, "# "));
	}
}

function equal(a, b) {
	if (JSON.stringify(a) !== JSON.stringify(b)) {
		throw new Error(`${JSON.stringify(a)} is not ${JSON.stringify(b)}`);
	}
}

async function until(condition) {
	const end = Date.now() + 150000;
	while (!condition()) {
		if (Date.now() > end) throw new Error("never");
		await new Promise((wake) => setTimeout(wake, 10));
	}
}

async function fails(promise) {
	try {
		await promise;
	} catch (e) {
		return e;
	}
	throw new Error("it did not fail");
}

// Connect, run the body, close: the server has ended by then.
async function session(way, args, options, answer, body) {
	const client = way.make(options);
	if (answer) way.asked(client, answer);
	const transport = new way.Transport({ command: process.env.RUNNER, args: ["mcp", "serve", ...args], stderr: "ignore",
		env: process.env });
	await client.connect(transport);
	const pid = transport.pid;
	try {
		return await body(client);
	} finally {
		await client.close();
		await until(() => !fs.existsSync(`/proc/${pid}`));
	}
}

const DROP = { name: "db_drop", arguments: { name: "prod" } };
const yes = () => ({ action: "accept", content: { confirm: true } });

function dropped() {
	return fs.existsSync("dropped") ? fs.readFileSync("dropped", "utf8") : "";
}

// --- the tests -----------------------------------------------------------------------------

for (const [name, way] of Object.entries(ways)) {
	await test(`${name}: lists the tools and calls one, whose result keeps to its schema`, () => session(way, [], {}, null, async (c) => {
		equal(c.getServerVersion().name, process.cwd().match(/[^/]+$/)[0]);
		const { tools } = await c.listTools();
		equal(tools.some((t) => t.name === "greet" && t.outputSchema), true);
		const result = await c.callTool({ name: "greet", arguments: { name: "Ada" } });
		equal(result.structuredContent.data, { greeting: "Hello, Ada" });
		equal(JSON.parse(result.content[0].text), result.structuredContent);
	}));

	await test(`${name}: reads failures`, () => session(way, [], {}, null, async (c) => {
		await c.listTools();
		const result = await c.callTool({ name: "greet", arguments: { nam: "Ada" } });
		equal([result.isError, result.structuredContent.error.code], [true, "VALIDATION_ERROR"]);
		equal((await fails(c.callTool({ name: "no_such" }))).code, -32602);
	}));

	await test(`${name}: has progress, and cancels`, () => session(way, [], {}, null, async (c) => {
		const said = [];
		fs.rmSync("began", { force: true });
		const abort = new AbortController();
		const options = { signal: abort.signal, onprogress: (p) => { said.push(p.message); abort.abort("enough"); } };
		const call = way.make === ways["sdk 1.x"].make ? c.callTool({ name: "slow" }, undefined, options) : c.callTool({ name: "slow" }, options);
		await fails(call);
		equal(said[0], "it has begun");
		await until(() => fs.existsSync("began") && !fs.existsSync(`/proc/${fs.readFileSync("began", "utf8")}`));
		equal((await c.callTool({ name: "greet" })).isError, false);
	}));

	await test(`${name}: answers a hundred calls at once`, () => session(way, [], {}, null, async (c) => {
		const calls = Array.from({ length: 100 }, (_, i) => c.callTool({ name: "greet", arguments: { name: `${i}` } }));
		(await Promise.all(calls)).forEach((r, i) => equal(r.structuredContent.data.greeting, `Hello, ${i}`));
	}));

	await test(`${name}: asks its person before a destructive call`, () => session(way, ["--allow", "db drop"], ASKS, yes, async (c) => {
		const before = dropped();
		const result = await c.callTool(DROP);
		equal(result.structuredContent.data, { effect: "deleted" });
		equal(dropped(), `${before}prod\n`);
	}));

	for (const [what, reply] of Object.entries({ declines: { action: "decline" }, cancels: { action: "cancel" },
		"leaves the box empty": { action: "accept", content: { confirm: false } } })) {
		await test(`${name}: runs nothing when the person ${what}`, () => session(way, ["--allow", "db drop"], ASKS, (request) => {
			equal(request.params.message.includes("prod"), true);
			return reply;
		}, async (c) => {
			const before = dropped();
			const result = await c.callTool(DROP);
			equal([result.isError, result.structuredContent.error.code], [true, "CONFIRMATION_REQUIRED"]);
			equal(dropped(), before);
		}));
	}

	await test(`${name}: is refused a destructive call where it can't ask`, () => session(way, ["--allow", "db drop"], {}, null, async (c) => {
		const before = dropped();
		if (way.modern) {
			equal((await fails(c.callTool(DROP))).code, -32021);
		} else {
			equal((await c.callTool(DROP)).structuredContent.error.code, "CONFIRMATION_REQUIRED");
		}
		equal(dropped(), before);
	}));
}

// Tasks of 2025-11-25. Those of 2026-07-28 are looked at by the conformance runner (official.py).
await test("sdk 1.x: calls a tool as a task, and has its result", () => session(ways["sdk 1.x"], [], {}, null, async (c) => {
	await c.listTools();
	const said = [];
	for await (const message of c.experimental.tasks.callToolStream({ name: "later" }, undefined, { task: { ttl: 600000 } })) said.push(message);
	equal(said[0].type, "taskCreated");
	equal(said[0].task.ttl, 600000);
	equal(said.at(-1).result.structuredContent.data, { done: true });
	const { tasks } = await c.experimental.tasks.listTasks();
	equal([tasks.length, tasks[0].status], [1, "completed"]);
}));

await test("sdk 1.x: cancels a task", () => session(ways["sdk 1.x"], [], {}, null, async (c) => {
	await c.listTools();
	fs.rmSync("began", { force: true });
	const stream = c.experimental.tasks.callToolStream({ name: "slow" }, undefined, { task: {} });
	const { value } = await stream.next();
	await until(() => fs.existsSync("began"));
	equal((await c.experimental.tasks.cancelTask(value.task.taskId)).status, "cancelled");
	await until(() => !fs.existsSync(`/proc/${fs.readFileSync("began", "utf8")}`));
}));

await test("ext-tasks: settles a call of 2025-11-25", () => session(ways["client 2.x, legacy"], [], {}, null, async (c) => {
	const tasks = createTaskSessionFromClient(c, { endpointId: "runner" });
	try {
		const execution = await tasks.callTool("later", {});
		const { outcome } = await execution.settle();
		equal(resultFromTaskOutcome(outcome).structuredContent.data, { done: true });
	} finally {
		await tasks.close();
	}
}));

console.log(`1..${count}`);
