const { program } = require("commander");
program.command("hello").option("--name <name>", "whom to greet", "world").action((o) => console.log(JSON.stringify({ greeting: `Hello, ${o.name}` })));
program.parse();
