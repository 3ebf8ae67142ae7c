// ajv.mjs SCHEMA FILE…: judges YAML files by a JSON Schema, with ajv. A line for each file: "valid FILE", or
// "invalid FILE: where and why". Exit 1: the schema itself is none.
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { parse } from "yaml";

const [schema, ...files] = process.argv.slice(2);
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, strict: true, strictTypes: false, strictRequired: false });
const validate = ajv.compile(JSON.parse(readFileSync(schema, "utf8")));
for (const file of files) {
	const value = parse(readFileSync(file, "utf8"), { merge: true });
	const errors = validate(value) ? [] : validate.errors;
	console.log(errors.length === 0 ? `valid ${file}` : `invalid ${file}: ${errors[0].instancePath} ${errors[0].message}`);
}
