#!/usr/bin/env bats
# Commands that are prompts or resources to a client of MCP (mcp = "prompt", mcp = { resource = URI }), and completion.

load lib/helper
load lib/mcp

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME")
	command_file review/code <<'LUA'
return { description = "Review a change", danger_level = "safe", mcp = "prompt",
	args = { { "tone", "enum", values = { "kind", "keen", "plain" }, required = true, description = "How" }, { "lines", "integer", default = 3 },
		{ "strict", "boolean" }, { "pin", "string", secret = true } },
	run = function(args, ctx)
		if args.lines == 0 then ctx:fail("CONFLICT", "nothing to review") end
		if args.lines == 9 then return ("x"):rep(40000) end
		if args.lines == 8 then return { { role = "assistant", text = "Hello" }, { role = "user", text = args.pin or "-" } } end
		if args.lines == 7 then ctx:attach { name = "a.md", data = "# A" } end
		return ("Review %d lines, %s%s"):format(args.lines, args.tone, args.strict and ", strictly" or "")
	end }
LUA
	command_file note <<'LUA'
return { description = "A note", danger_level = "safe", mcp = { resource = "notes://{kind}/{name}.md", mime_type = "text/markdown" },
	args = { { "kind", "enum", values = { "new", "old" }, required = true }, { "name", "string", required = true } },
	run = function(args, ctx)
		if args.name == "absent" then ctx:fail("NOT_FOUND", "no such note") end
		if args.name == "broken" then ctx:fail("CONFLICT", "it is being written") end
		return args.name == "large" and ("ü"):rep(30000) or ("%s of %s"):format(args.name, args.kind)
	end }
LUA
	body about 'mcp = { resource = "notes://about" },' <<<'return { version = 1 }'
}

@test "a prompt has the arguments of its command, and its text comes as a message" {
	session <<'PY'
with Server() as s:
    assert s.ask("server/discover")["result"]["capabilities"]["completions"] == {}
    assert not {"review_code", "note", "about"} & {t["name"] for t in s.ask("tools/list")["result"]["tools"]}
    assert s.call("note", {"kind": "new", "name": "x"})["code"] == -32602
    prompt = s.ask("prompts/list")["result"]["prompts"][0]
    assert (prompt["name"], prompt["description"]) == ("review_code", "Review a change"), prompt
    assert [(a["name"], a.get("required"), a.get("description")) for a in prompt["arguments"]] == [
        ("tone", True, "How"), ("lines", None, None), ("strict", None, None), ("pin", None, None)], prompt
    def get(**arguments):
        return s.ask("prompts/get", {"name": "review_code", "arguments": arguments})
    text = {"type": "text", "text": "Review 5 lines, kind, strictly"}
    assert get(tone="kind", lines="5", strict="true")["result"]["messages"] == [{"role": "user", "content": text}]
    messages = get(tone="kind", lines="8", pin="hunter2")["result"]["messages"]
    assert [(m["role"], m["content"]["text"]) for m in messages] == [("assistant", "Hello"), ("user", "***")], messages
    messages = get(tone="kind", lines="7")["result"]["messages"]
    assert [m["content"]["type"] for m in messages] == ["resource", "text"] and messages[0]["content"]["resource"]["text"] == "# A"
    for arguments, code, word in (({}, -32602, "tone"), ({"tone": "rude"}, -32602, "rude"), ({"tone": "kind", "lines": "x"}, -32602, "lines"),
                                  ({"tone": "kind", "no": "x"}, -32602, "no"), ({"tone": "kind", "lines": "0"}, -32603, "nothing to review"),
                                  ({"tone": "kind", "lines": "0x5"}, -32602, "'0x5'"), ({"tone": "kind", "lines": "1e999"}, -32602, "'1e999'"),
                                  ({"tone": "kind", "lines": "0x7fffffffffffffffff"}, -32602, "'0x7f"), ({"tone": "kind", "lines": " 5"}, -32602, "' 5'"),
                                  ({"tone": "kind", "lines": "9"}, -32603, "room"), ({"tone": 1}, -32602, "string")):
        error = get(**arguments)["error"]
        assert error["code"] == code and word in error["message"], (arguments, error)
    assert s.ask("prompts/get", {"name": "review_code", "arguments": []})["error"]["code"] == -32602
    s.initialize()
    assert s.ask("prompts/get", {"name": "review_code", "arguments": {"tone": "keen"}}, modern=False)["result"]["messages"]
PY
}

@test "a resource is read by its URI, whose parts are arguments, and what is too large is read in parts" {
	session <<'PY'
with Server() as s:
    listed = {r["uri"] for r in s.ask("resources/list")["result"]["resources"]}
    assert "notes://about" in listed and not any("{" in uri for uri in listed)
    templates = s.ask("resources/templates/list")["result"]["resourceTemplates"]
    assert ("notes://{kind}/{name}.md", "text/markdown") in [(t["uriTemplate"], t.get("mimeType")) for t in templates]
    def read(uri):
        answer = s.ask("resources/read", {"uri": uri})
        return answer["result"]["contents"][0] if "result" in answer else answer["error"]
    assert read("notes://about") == {"uri": "notes://about", "mimeType": "application/json", "text": '{"version":1}'}
    assert read("notes://new/a%20b%3Fc.md")["text"] == "a b?c of new"
    for uri, code in (("notes://new/absent.md", -32602), ("notes://new/broken.md", -32603), ("notes://odd/a.md", -32602), ("notes://new/a/b.md", -32602),
                      ("notes://new/.md", -32602), ("notes://new/a%2Fb.md", -32602),
                      ("notes://new/%2fetc%2fpasswd.md", -32602), ("notes://new/..md", -32602), ("notes://new/%2e%2e.md", -32602),
                      ("notes://new/..%2fx.md", -32602), ("notes://new/a%00.md", -32602), ("notes://new/...md", -32602), ("notes://new/a.mdx", -32602), ("notes://new/%ff.md", -32602), ("notes://new/--help.md", None),
                      ("notes://new/a.md?x", -32602), ("notes://aboutx", -32602)):
        assert read(uri).get("code") == code, (uri, read(uri))
    content, text = read("notes://new/large.md"), ""
    while content:
        text += content["text"]
        more = content.get("_meta", {}).get("runner/next")
        content = more and read(more)
    assert text == "ü" * 30000
PY
}

@test "what of a prompt or a resource can't be kept is a failure with its reason, and nothing else stands for it" {
	body chart 'mcp = { resource = "chart://sales", mime_type = "image/svg+xml" },' <<<'ctx:attach { name = "c.svg", data = "<svg/>" } return { months = 1 }'
	body picture 'mcp = "prompt",' <<<'ctx:attach { name = "c.svg", data = "<svg/>" } return "What is wrong in it?"'
	body large 'mcp = { resource = "large://x" },' <<<'return ("0123456789\n"):rep(20000)'
	body middle 'mcp = { resource = "middle://x" },' <<<'return ("0123456789\n"):rep(900)'
	mkdir -p state/runner
	touch state/runner/answers
	session <<'PY'
with Server() as s:
    for method, params, name in (("resources/read", {"uri": "chart://sales"}, "c.svg"), ("prompts/get", {"name": "picture"}, "c.svg"),
                                 ("resources/read", {"uri": "large://x"}, "no room")):
        answer = s.ask(method, params)
        assert answer.get("error", {}).get("code") == -32603, answer
        assert name in answer["error"]["message"] and "no folder" in answer["error"]["message"], answer
    content = s.ask("resources/read", {"uri": "middle://x"})["result"]["contents"][0]
    assert len(content["text"]) == 9900 and "_meta" not in content, "what has room needs no file"
    os.remove("state/runner/answers")
    assert s.ask("resources/read", {"uri": "chart://sales"})["result"]["contents"][0]["text"] == "<svg/>"
    assert s.ask("prompts/get", {"name": "picture"})["result"]["messages"][0]["content"]["type"] == "resource"
    more = s.ask("resources/read", {"uri": "large://x"})["result"]["contents"][0]["_meta"]["runner/next"]
    assert s.ask("resources/read", {"uri": more})["result"]
PY
}

@test "a template of many parts is matched in the time of its bytes, and each part goes to where the next begins" {
	command_file parts <<'LUA'
return { description = "x", danger_level = "safe", mcp = { resource = "x://{a}-{b}-{c}-{d}-{e}-{f}/end" },
	args = { { "a", "string" }, { "b", "string" }, { "c", "string" }, { "d", "string" }, { "e", "string" }, { "f", "string" } },
	run = function(args) return table.concat({ args.a, args.b, args.c, args.d, args.e, args.f }, " ") end }
LUA
	session <<'PY'
with Server() as s:
    assert s.ask("resources/read", {"uri": "x://1-2-3-4-5-6-7/end"})["result"]["contents"][0]["text"] == "1 2 3 4 5 6-7"
    for uri in ("x://" + "-a" * 500000 + "/end", "x://" + "-a" * 500000, "x://1-2-3-4-5-/end", "x://1-2-3-4-5-6/en", "x://1-2/3-4-5-6-7/end", "x://-2-3-4-5-6/end"):
        assert s.ask("resources/read", {"uri": uri})["error"]["code"] == -32602, uri[:80]
PY
}

@test "completion offers the values that an argument names, and knows no other argument" {
	session <<'PY'
PROMPT, NOTE = {"type": "ref/prompt", "name": "review_code"}, {"type": "ref/resource", "uri": "notes://{kind}/{name}.md"}
with Server() as s:
    def complete(ref, name, value):
        answer = s.ask("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}})
        return answer["result"]["completion"] if "result" in answer else answer["error"]["code"]
    assert complete(PROMPT, "tone", "K") == {"values": ["kind", "keen"], "total": 2, "hasMore": False}
    assert complete(PROMPT, "tone", "")["total"] == 3 and complete(PROMPT, "strict", "t")["values"] == ["true"]
    assert complete(PROMPT, "lines", "1")["values"] == [] and complete(PROMPT, "pin", "h")["values"] == []
    assert complete(NOTE, "kind", "o")["values"] == ["old"]
    for ref in ({"type": "ref/prompt", "name": ["a"]}, {"type": "ref/resource", "uri": {}}, {"type": "ref/prompt"}):
        error = s.ask("completion/complete", {"ref": ref, "argument": {"name": "a", "value": ""}})["error"]
        assert error["code"] == -32602 and error["message"] in ("name must be a string", "uri must be a string"), error
    assert s.ask("prompts/get", {"name": {"a": 1}})["error"]["message"] == "name must be a string"
    for ref, name, value in ((PROMPT, "no", ""), ({"type": "ref/prompt", "name": "x"}, "tone", ""), ({"type": "ref/tool", "name": "x"}, "a", ""),
                             ({"type": "ref/resource", "uri": "notes://about"}, "a", ""), ("x", "a", ""), (PROMPT, 1, ""), (PROMPT, "tone", None)):
        assert complete(ref, name, value) == -32602, (ref, name, value)
PY
}

@test "--only and a policy hold for prompts and resources, and a person's command is none" {
	body mine 'mcp = "prompt", requires_person = true, interactive = true,' <<<'return "x"'
	echo '{"deny":["note","review.code"]}' >policy.json
	session <<'PY'
def names(s):
    return ([p["name"] for p in s.ask("prompts/list")["result"]["prompts"]],
            [r["uri"] for r in s.ask("resources/list")["result"]["resources"] if r["uri"].startswith("notes")])
with Server() as s:
    assert names(s) == (["review_code"], ["notes://about"]), names(s)
with Server("--only", "about") as s:
    assert names(s) == ([], ["notes://about"]), names(s)
    assert "error" in s.ask("resources/read", {"uri": "notes://new/a.md"})
    assert "error" in s.ask("prompts/get", {"name": "review_code", "arguments": {"tone": "kind"}})
with Server(env={"RUNNER_POLICY": "policy.json"}) as s:
    assert "error" in s.ask("resources/read", {"uri": "notes://new/a.md"}) and "error" in s.ask("prompts/get", {"name": "review_code", "arguments": {"tone": "kind"}})
    assert "result" in s.ask("resources/read", {"uri": "notes://about"})
PY
}

@test "what can't be a prompt or a resource is said of the declaration" {
	while IFS='|' read -r keys said; do
		printf 'return { description = "x", exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } }, %s\n run = function() end }\n' "$keys" | command_file bad
		call bad
		SAID=$said
		[ "$status" = 4 ]
		expect "e['error']['code'] == 'COMMAND_INVALID' and '''$SAID''' in e['error']['message']"
	done <<-'EOF2'
		danger_level = "mutating", mcp = "prompt",|changes nothing
		danger_level = "safe", mcp = "tool",|mcp
		danger_level = "safe", mcp = { resource = "runner://x" },|mcp
		danger_level = "safe", mcp = { resource = "no uri" },|mcp
		danger_level = "safe", mcp = { resource = "a://{b" },|mcp
		danger_level = "safe", mcp = { resource = "a://{b}{c}" },|mcp
		danger_level = "safe", mcp = { resource = "a://x", kind = "y" },|mcp
		danger_level = "safe", mcp = { resource = "a://x", mime_type = "y" },|mcp
		danger_level = "safe", mcp = { resource = "a://{b}" },|which is no argument
		danger_level = "safe", mcp = { resource = "a://x" }, args = { { "b", "string", required = true } },|leaves out the required argument
	EOF2
}
