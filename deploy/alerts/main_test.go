// Package alerts holds what operators are shown (the page of metrics, the alerts, the
// dashboard) to what the programs expose in a sale on real servers. It holds tests only.
package alerts

import (
	"context"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/sqltest"
)

var bin string // where the two programs are

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seckill-alerts")
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
