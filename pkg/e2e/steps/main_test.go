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
	"github.com/openseckill/seckill/pkg/sqltest"
)

var bin string // where the two programs are

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seckill-steps")
	if err != nil {
		panic(err)
	}
	// Not watched for races: a hundred of them start here, and other tests watch.
	if err := process.Build(context.Background(), dir); err != nil {
		panic(err)
	}
	bin = dir
	flag.Parse()
	_ = flag.Set("test.parallel", "11") // scenes mostly wait
	exit := sqltest.Main(m)
	_ = os.RemoveAll(dir)
	os.Exit(exit)
}
