package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// stopLimit is how long a server may take to write its last bytes after SIGTERM.
const stopLimit = 10 * time.Second

// child is one run of redis-server.
type child struct {
	process *os.Process
	done    chan struct{} // closed when the process has ended
}

// spawn starts the program with its output added to the file at log.
func spawn(args []string, log string) (*child, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server 7.0 or later is not installed; on Debian: apt-get install redis-server; on macOS: brew install redis: %w", err)
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, dieWithParent()
	c := &child{done: make(chan struct{})}
	started := make(chan error)
	go c.run(cmd, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run forks and waits on one thread: the death signal belongs to the thread that forked, so
// that thread must live as long as the child.
func (c *child) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	err := cmd.Start()
	c.process = cmd.Process
	started <- err
	if err == nil {
		_ = cmd.Wait() // a server that was killed is no error
	}
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stop asks the server to end, and ends it if it does not.
func (c *child) stop() error {
	if err := c.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-c.done:
		return nil
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("redis-server ignored SIGTERM for %v", stopLimit), c.kill())
	}
}

// kill ends the server as a crash would, and waits until it is gone.
func (c *child) kill() error {
	if err := c.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-c.done
	return nil
}

func (c *child) signal(s os.Signal) error {
	if err := c.process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
