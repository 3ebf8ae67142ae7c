// portable.mjs TOOLS JUDGED: do Ajv (draft 2020-12, unicode), zod and RE2 take the schemas of tools, and exactly the values that
// runner takes? TOOLS is the answer of `runner mcp tools`, JUDGED what the command `judge` of tests/cli/tool_schemas.bats writes.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { z } from "zod";

const require = createRequire(import.meta.url);
const { Ajv2020 } = require("ajv/dist/2020.js");
const { RE2 } = require("re2-wasm");

const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allowUnionTypes: true, validateFormats: false, unicodeRegExp: true });
const [tools, judged] = process.argv.slice(2).map((name) => JSON.parse(readFileSync(name, "utf8"))).map((v) => v.data ?? v);
let faults = 0, pairs = 0;

function fault(text) {
	faults++;
	if (faults <= 20) console.log(text);
}

function attempt(what, f) {
	try {
		return f();
	} catch (e) {
		fault(`${what}: ${e.message}`);
	}
}

// Every pattern of a schema, wherever it stands.
function patterns(schema, out = []) {
	for (const [key, value] of Object.entries(schema && typeof schema === "object" ? schema : {})) {
		if (key === "pattern" && typeof value === "string") out.push(value);
		else if (key === "patternProperties") out.push(...Object.keys(value));
		patterns(value, out);
	}
	return out;
}

const properties = {};
for (const { name, tool } of tools) {
	attempt(`ajv, ${name}`, () => ajv.compile(tool.inputSchema));
	if (tool.outputSchema) attempt(`ajv, result of ${name}`, () => ajv.compile(tool.outputSchema));
	attempt(`zod, ${name}`, () => z.fromJSONSchema(tool.inputSchema));
	for (const pattern of patterns(tool.inputSchema).concat(patterns(tool.outputSchema)))
		attempt(`RE2, ${name}, ${pattern}`, () => new RE2(pattern, "u"));
	if (name === "probe") Object.assign(properties, tool.inputSchema.properties);
}
for (const { name, values, taken } of judged.rows) {
	const schema = properties[name], all = patterns(schema);
	const readers = {
		ajv: ajv.compile(schema),
		zod: ((type) => (v) => type.safeParse(v).success)(z.fromJSONSchema(schema)),
		RE2: ((list) => (v) => v.length >= (schema.minLength ?? 0) && list.every((re) => re.test(v)))(all.map((p) => new RE2(p, "u"))),
	};
	if (taken.every((v) => v) || !taken.some((v) => v)) fault(`${name} tells no values apart`);
	values.forEach((value, i) => {
		pairs++;
		for (const [reader, takes] of Object.entries(readers))
			if (takes(value) !== taken[i]) fault(`${reader}, ${name}, ${all[0]}: ${JSON.stringify(value)} is ${taken[i] ? "" : "not "}taken by runner`);
	});
}
console.log(`${pairs} values, ${tools.length} tools, ${faults} faults`);
process.exit(faults === 0 && pairs >= 10000 ? 0 : 1);
