-- The ledger says who did what, and who agreed.
return { name = "tools", version = "1.0.0", description = "Deployments, for people and agents", audit = { path = "audit.jsonl" } }
