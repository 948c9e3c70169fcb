// Package cluster runs a sale on both programs while the Redis under it changes: on a real
// cluster whose slots move and whose masters die, and behind Sentinels. Buyers, payments and
// cancellations go on all the time. It holds tests only.
package cluster

import (
	"context"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/sqltest"
)

var bin string // where the two programs are

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seckill-cluster")
	if err != nil {
		panic(err)
	}
	if err := process.Build(context.Background(), dir); err != nil {
		panic(err)
	}
	bin = dir
	exit := sqltest.Main(m)
	_ = os.RemoveAll(dir)
	os.Exit(exit)
}
