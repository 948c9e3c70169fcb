//go:build web

package web

import "testing"

// storefront.mjs says what a buyer sees; the stack is as `make run` starts it, on real servers.
func TestStorefront(t *testing.T) {
	browse(t, "storefront.mjs", startStack(t, "STACK=servers"))
}

// Here nobody has long to pay.
func TestStorefrontTimeout(t *testing.T) {
	browse(t, "timeout.mjs", startStack(t, "SECKILL_PAY_TIMEOUT=5s"))
}
