package sqltest

import (
	"os"
	"os/exec"
	"runtime"
)

// child is a running process. err is set once exited is closed.
type child struct {
	process *os.Process
	exited  chan struct{}
	err     error
}

// launch starts cmd so that it dies with this process, however that ends. The kernel
// ties the child to the thread that forked it, so that thread must live as long.
func launch(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = dieWithParent()
	c, started := &child{exited: make(chan struct{})}, make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		c.process = cmd.Process
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}
