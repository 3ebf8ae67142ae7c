return { description = "Lent", danger_level = "safe", run = function() return { lent = true } end }
