-- The demo's project: three targets that are plain directories below www/.
return {
	name = "demo",
	version = "1.0.0",
	commands = "../../commands", -- your own project has its commands/ beside this file
	config = {
		source = "site", -- what deploy takes when no SOURCE is given
		targets = {
			prod = { path = "www/prod", keep = 5 },
			staging = { path = "www/staging", keep = 3 },
			dev = { path = "www/dev", keep = 1 },
			-- behind a web server whose root is /srv/www/current:
			-- live = {
			-- 	path = "/srv/www", keep = 5, lock_wait = "10s",
			-- 	health = { url = "http://localhost/health", timeout = "5s", retry = { retries = 5, delay = "500ms" } },
			-- },
		},
	},
}
