// Package runbook runs every command of deploy/RUNBOOK.md on real servers, each in the state
// that its section speaks of, and holds what comes out to what the page shows. It holds tests
// only.
package runbook

import (
	"context"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

const page = "../../../deploy/RUNBOOK.md"

var bin string // where the two programs are

func TestMain(m *testing.M) { os.Exit(process.Main(context.Background(), m, &bin)) }
