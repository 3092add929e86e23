# SPDX-License-Identifier: Apache-2.0
# For tests of salvage: a task whose machine is taken over by tests/guest-agents/saboteur.c.

# lose DAMAGE END [LINE...]: a task that writes, waits three seconds, and loses its machine. The array
# lose_options is for vmrun.
lose() {
    local go="$1 $2"
    shift 2
    cat >"$T/script.sh" <<-END
	mkdir -p out/deep && echo text >out/salvage-me && seq 20000 >out/deep/numbers
	ln -s /etc/passwd out/link
	sleep 3
	echo $go >.go && mv .go go
	sleep 600
	END
    task 'sh script.sh' '[input]' 'script.sh = script.sh' '[artifacts]' 'collect = out' "$@"
    sed -i "s|^\[machine\]\$|[machine]\ninitramfs = $PWD/build/e2e/saboteur.cpio|" "$T/task.ini"
    run_task --set limits.disk=32M "${lose_options[@]}"
}
