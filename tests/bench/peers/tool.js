console.log(JSON.stringify({ ok: true, data: { hello: "world", command: process.argv[2] } }));
