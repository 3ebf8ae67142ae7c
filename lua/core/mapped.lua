-- mapped: a table that somebody wrote, checked entry by entry: of aliases, contexts, hosts.

---What is kept of a table; nil: it is none, or an entry of it is wrong.
---@param v any
---@param accept fun(key: any, value: any): any, any what to keep, nil: it is wrong; and under which key, default the same
---@return table<any, any>?
return function(v, accept)
	local out = {}
	for key, value in next, type(v) == "table" and v or { false } do
		local kept, name = accept(key, value)
		name = name == nil and key or name
		if kept == nil or out[name] ~= nil then
			return nil
		end
		out[name] = kept
	end
	return out
end
