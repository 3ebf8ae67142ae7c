-- tokens: how much of a result a caller wants, in tokens of a language model (REQ-O-049); for any
-- command. lua/output/tokens.lua acts on them.

---@type runner.Subject
return {
	keys = {},
	flags = {
		{ name = "token_limit", type = "integer", min = 16, max = 1000000000, yields = true, section = "Output",
			description = "At most this many tokens of the result, in whole elements; what is more is left out, and meta says so" },
		{ name = "token_offset", type = "integer", min = 0, max = 1000000000000, yields = true, section = "Output",
			description = "Leave out what answers of --token-limit have shown so far: the next_token_offset of the last one" },
		{ name = "token_count", type = "boolean", yields = true, section = "Output",
			description = "Run the command, and answer with the number of tokens of its result" },
		{ name = "tokenizer", type = "enum", values = { "bytes4" }, yields = true, section = "Output",
			description = "How tokens are counted: bytes4 is a token for every 4 bytes" },
	},
}
