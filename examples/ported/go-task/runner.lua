return { aliases = { w = "website", docs = "website", d = "website" } }
