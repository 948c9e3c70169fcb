package sqltest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

// parentEnv turns this test binary into a process that starts a server and then waits to
// be killed.
const parentEnv = "SQLTEST_PARENT"

func TestServerDiesWithItsProcess(t *testing.T) {
	if parent := os.Getenv(parentEnv); parent != "" {
		startAndWait(t, parent)
	}
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // nothing is promised
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsProcess$")
	cmd.Env = append(os.Environ(), parentEnv+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	dsn, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	db := open(t, strings.TrimSpace(dsn))
	require.NoError(t, db.PingContext(t.Context()))

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return db.PingContext(t.Context()) != nil }, time.Minute, 10*time.Millisecond)
}

func startAndWait(t *testing.T, parent string) {
	t.Helper()
	s, err := sqltest.Start(sqltest.Options{Parent: parent})
	require.NoError(t, err)
	dsn, err := s.NewDatabase(t.Context())
	require.NoError(t, err)
	fmt.Println(dsn)
	for { // other goroutines come and go, and with them threads; the server must not care
		runtime.Gosched()
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			close(done)
		}()
		<-done
	}
}
