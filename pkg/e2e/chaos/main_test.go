// Package chaos runs a sale on both programs and real servers while a seeded plan of faults
// breaks them, and holds what is left of it to the contract: the books, each answer that was
// given, and the history of each buyer. It plants classic mistakes, too, and has to find
// them. It holds tests only.
package chaos

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

var bin string // where the two programs are

// The programs are never watched for races: that is for the other tests, and the faults come
// fast here.
func TestMain(m *testing.M) {
	exit := process.Main(context.Background(), m, &bin)
	if database.server != nil {
		_ = database.server.Stop()
	}
	os.Exit(exit)
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
