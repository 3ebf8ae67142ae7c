# shellcheck shell=bash
# ssh.bash: a real sshd on loopback, with keys, a port and a configuration of its own, below the test's directory.
#
#   sshd_up             starts it; `ssh node` reaches it from programs that CLEAN_ENV starts
#   sshd_up link        behind tests/cli/lib/link.py, which cuts what `cut` in the file `link/cuts` asks for
#   sshd_down           ends it, with the sessions that it has
#
# SERVER_ENV: what programs that it starts have in their environment, NAME=VALUE (an array).

# A port that nobody listens on.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The server listens, or has ended.
sshd_decided() {
	[ -s ssh/pid ] || ! kill -0 "$SSHD" 2>/dev/null
}

sshd_up() {
	command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || skip "there is no sshd (apt-get install openssh-server)"
	local port path
	mkdir -p ssh/bin ssh/there
	rm -f ssh/pid
	[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd # where it separates its privileges
	chmod 700 ssh
	[ -e ssh/host ] || ssh-keygen -q -t ed25519 -N '' -f ssh/host
	[ -e ssh/key ] || ssh-keygen -q -t ed25519 -N '' -f ssh/key
	path="$PWD/ssh/there:$PATH"
	ln -sf "$RUNNER" ssh/there/runner
	{
		printf '%s\n' "ListenAddress 127.0.0.1" "HostKey $PWD/ssh/host" "AuthorizedKeysFile $PWD/ssh/key.pub" \
			"PasswordAuthentication no" "KbdInteractiveAuthentication no" "UsePAM no" "StrictModes no" "PidFile $PWD/ssh/pid" \
			"PermitRootLogin prohibit-password" "MaxStartups 100" "LogLevel ERROR"
		printf 'SetEnv PATH="%s"' "$path"
		printf ' %s' "HOME=$PWD/ssh/home" "${SERVER_ENV[@]}"
		printf '\n'
	} >ssh/sshd_config
	mkdir -p ssh/home
	until [ -s ssh/pid ]; do # a port that is taken meanwhile ends it
		port=$(free_port)
		env TOKEN="$TOKEN" "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -f "$PWD/ssh/sshd_config" -p "$port" >ssh/log 2>&1 </dev/null 3>&- 4>&- &
		SSHD=$!
		until_true sshd_decided
		[ -s ssh/pid ] || grep -qF "Cannot bind any address" ssh/log || return 1
	done
	if [ "${1:-}" = link ]; then
		mkdir -p link
		env TOKEN="$TOKEN" python3 "$ROOT/tests/cli/lib/link.py" "$port" link >link/log 2>&1 </dev/null 3>&- 4>&- &
		LINK=$!
		until_true [ -s link/port ]
		port=$(cat link/port)
	fi
	printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 ssh/host.pub)" >ssh/known
	printf '%s\n' "Host node" "	HostName 127.0.0.1" "	Port $port" "	IdentityFile $PWD/ssh/key" "	IdentitiesOnly yes" \
		"	UserKnownHostsFile $PWD/ssh/known" "	GlobalKnownHostsFile /dev/null" "Host gone" "	HostName 127.0.0.1" "	Port 1" \
		"Host deaf" "	HostName 127.0.0.1" "	Port $(cat link/deaf 2>/dev/null || echo 1)" >ssh/config
	printf '#!/bin/sh\necho call >>"%s/ssh/calls"\nexec %s -F "%s/ssh/config" "$@"\n' "$PWD" "$(command -v ssh)" "$PWD" >ssh/bin/ssh
	chmod +x ssh/bin/ssh
	CLEAN_ENV+=(PATH="$PWD/ssh/bin:$PATH")
}

sshd_down() {
	[ -z "${LINK:-}" ] || kill "$LINK" 2>/dev/null || true
	[ -z "${SSHD:-}" ] || kill "$SSHD" 2>/dev/null || true
	LINK='' SSHD=''
}
