// Package durability shows what a 202 promises in each way of running Redis: a sale is under
// way, orders wait, and Redis dies. It holds tests only.
package durability

import (
	"context"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

var bin string // where the two programs are

func TestMain(m *testing.M) { os.Exit(process.Main(context.Background(), m, &bin)) }
