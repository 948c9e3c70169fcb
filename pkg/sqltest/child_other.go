//go:build !linux

package sqltest

import "syscall"

// Only Linux ties a child to its parent; elsewhere a killed test leaves its server behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
