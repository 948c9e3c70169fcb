// Package durability shows what a 202 promises in each way of running Redis: a sale is under
// way, orders wait, and Redis dies. It holds tests only.
package durability

import (
	"context"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/sqltest"
)

var bin string // where the two programs are

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seckill-durability")
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
