return { name = "shop", version = "1.0.0", audit = { path = "audit.jsonl" } }
