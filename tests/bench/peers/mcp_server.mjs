// A server of MCP as one writes it first, with the official SDK: one tool, and a process of
// `node tool.js` for each call.   node mcp_server.mjs NODE_MODULES
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const sdk = `${process.argv[2]}/@modelcontextprotocol/sdk/dist/esm/server/`;
const { McpServer } = await import(`${sdk}mcp.js`);
const { StdioServerTransport } = await import(`${sdk}stdio.js`);
const tool = fileURLToPath(new URL("tool.js", import.meta.url));

const server = new McpServer({ name: "peer", version: "1" });
server.registerTool("hello", { description: "Say hello" }, () => ({
	content: [{ type: "text", text: spawnSync(process.execPath, [tool, "hello"]).stdout.toString() }],
}));
await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit(0));
