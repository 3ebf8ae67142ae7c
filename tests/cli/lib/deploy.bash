# deploy.bash: a project with three targets that are plain directories, for the tests
# of deploy, rollback and releases.

# shellcheck source=tests/cli/lib/helper.bash
load lib/helper

prepare() {
	cat >runner.lua <<LUA
return {
	commands = "$ROOT/commands",
	config = {
		source = "site",
		targets = {
			prod = { path = "www/prod", keep = 2, lock_wait = "100ms" },
			staging = { path = "www/staging" },
			dev = { path = "www/dev" },
		},
	},
}
LUA
	site one
}

# site TEXT: the site says TEXT
site() {
	mkdir -p site/css
	echo "$1" >site/index.html
	echo "body { }" >site/css/style.css
}

# live TEXT: what prod serves says TEXT
live() {
	[ "$(cat www/prod/current/index.html)" = "$1" ]
}

# Nothing that only a run at work may have is there.
no_leftovers() {
	local left
	left=$(find www \( -name '.incoming*' -o -name '.trash*' -o -name '*.tmp' \))
	[ -z "$left" ]
}

deploy() {
	call deploy --target prod "$@"
	assert_envelope
	no_leftovers
}

# hold_lock COMMAND…: somebody else deploys to prod as long as it runs; ends with the test
hold_lock() {
	mkdir -p www/prod/.deploy
	(flock 9 && "$@") 9>www/prod/.deploy/lock >/dev/null 2>&1 3>&- &
	holder=$!
	until ! flock -n www/prod/.deploy/lock true; do sleep 0.01; done
}

clean_up() {
	[ -z "${holder:-}" ] || kill "$holder" 2>/dev/null || true
}
