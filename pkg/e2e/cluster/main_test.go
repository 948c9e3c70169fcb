// Package cluster runs a sale on both programs while the Redis under it changes: on a real
// cluster whose slots move and whose masters die, and behind Sentinels. Buyers, payments and
// cancellations go on all the time. It holds tests only.
package cluster

import (
	"context"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

var bin string // where the two programs are

func TestMain(m *testing.M) { os.Exit(process.Main(context.Background(), m, &bin)) }
