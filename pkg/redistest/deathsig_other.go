//go:build !linux

package redistest

import "syscall"

// dieWithParent is nothing where the kernel has no such signal: Close ends the child then.
func dieWithParent() *syscall.SysProcAttr { return nil }
