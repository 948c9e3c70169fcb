//go:build web

package web

import "testing"

// console.mjs says what an admin sees; the stack is as `make run` starts it, on real servers.
func TestConsole(t *testing.T) {
	browse(t, "console.mjs", startStack(t, "STACK=servers", "STOCK=100"))
}

// outage.mjs lets things happen to the programs as they are shipped.
func TestConsoleOutage(t *testing.T) {
	browse(t, "outage.mjs", startHurt(t).URL)
}
