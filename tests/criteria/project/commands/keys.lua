return {
	description = "Return what looks like keys", danger_level = "safe",
	run = function(_, ctx)
		ctx:log("warn", '{"password":"hunter2"}')
		return { jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJl", version = "1.2.3", host = "a.b.example" }
	end,
}
