// Package alerts holds what operators are shown (the page of metrics, the alerts, the
// dashboard) to what the programs expose in a sale on real servers. It holds tests only.
package alerts

import (
	"context"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

var bin string // where the two programs are

func TestMain(m *testing.M) { os.Exit(process.Main(context.Background(), m, &bin)) }
