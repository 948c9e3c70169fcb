package redistest

import "syscall"

// dieWithParent has the kernel kill the child when the thread that forked it ends, however
// it ends: nothing is left behind by a test that was killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
