---@meta runner.toml
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---TOML 1.0, read.
---@class runner.toml
local toml = {}

---The tables of a document. Dates and times are texts, as they are written (runner.time reads those that
---have a date); lists are marked as JSON arrays. Anything that TOML 1.0 forbids raises PRECONDITION with its line.
---@param text string
---@param name? string of the file, for messages
---@return table
function toml.decode(text, name) end

return toml
