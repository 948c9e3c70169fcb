// Package chaos runs a sale on both programs and real servers while a seeded plan of faults
// breaks them, and holds what is left of it to the contract: the books, each answer that was
// given, and the history of each buyer. It plants classic mistakes, too, and has to find
// them. It holds tests only.
package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

var bin string // where the two programs are

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seckill-chaos")
	if err != nil {
		panic(err)
	}
	if err := build(dir); err != nil {
		panic(err)
	}
	bin = dir
	exit := m.Run()
	if database.server != nil {
		_ = database.server.Stop()
	}
	_ = os.RemoveAll(dir)
	os.Exit(exit)
}

// build builds the programs as they are shipped, never watched for races: that is for the
// other tests, and the faults come fast here.
func build(dir string, flags ...string) error {
	args := append([]string{"build", "-tags", "nomsgpack", "-o", dir}, flags...)
	out, err := exec.Command("go", append(args, "../../../api", "../../../worker")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s%w", out, err)
	}
	return nil
}

// pause returns after d, or earlier with false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// until asks again and again whether something is so; false: it was not within a limit.
func until(ctx context.Context, limit time.Duration, is func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !is() {
		if !pause(ctx, 20*time.Millisecond) {
			return is()
		}
	}
	return true
}

// freeAddr is a loopback address that nobody listens on, below the ports that the kernel
// gives to connections: a program that was killed has to find it free again.
func freeAddr() string {
	const low, high = 10_000, 32_000
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", low+rand.IntN(high-low))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
}
