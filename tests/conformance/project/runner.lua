return { name = "conformance", version = "1.0.0" }
