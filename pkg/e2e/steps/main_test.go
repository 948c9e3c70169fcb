// Package steps kills a program at every step of what it does. The steps of a program are
// its calls to Redis and SQL: a proxy stands in front of each server, stops the world at the
// step that is due, and the process gets SIGKILL. Another one takes over, and the law must
// hold. It holds tests only.
package steps

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

var bin string // where the two programs are

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "11") // scenes mostly wait
	os.Exit(process.Main(context.Background(), m, &bin))
}
