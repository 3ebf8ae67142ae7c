---@meta runner.yaml
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---YAML 1.2, read and written.
---@class runner.yaml
local yaml = {}

---The value of a document: lists are marked as JSON arrays, null is json.null. Duplicate keys, unknown
---tags, a second document and anything else that is wrong raise PRECONDITION with line and column.
---@param text string
---@param name? string of the file, for messages
---@return any
function yaml.decode(text, name) end

---A value as a YAML document in block style, the keys of maps sorted. What reads it gets the same value.
---@param value any
---@return string with a newline at its end
function yaml.encode(value) end

return yaml
