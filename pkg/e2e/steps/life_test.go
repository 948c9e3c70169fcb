package steps

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/faultnet"
)

// life is one process of ours, whose ways to both servers lead through proxies that keep a
// record.
type life struct {
	*process.Process
	stage   *stage
	record  *record
	proxies []*faultnet.Proxy
}

// live prepares a process.
func (s *stage) live(args ...string) *life {
	s.t.Helper()
	l := &life{stage: s, record: newRecord()}
	redis, sql := faultnet.New(s.whole, s.server.Addr()), faultnet.New(s.whole, s.config().Addr)
	redis.Watch(toRedis{l.record})
	sql.Watch(toSQL{l.record})
	l.proxies = []*faultnet.Proxy{redis, sql}
	c := s.config()
	c.Net, c.Addr = "tcp", sql.Addr()
	env := slices.Concat(hurried, []string{"SECKILL_REDIS_ADDRS=" + redis.Addr(), "SECKILL_MYSQL_DSN=" + c.FormatDSN()})
	l.Process = process.New(s.whole.Context(), bin, args, env)
	return l
}

func (l *life) start() {
	l.stage.t.Helper()
	require.NoError(l.stage.t, l.Start())
}

// ready waits until a program serves.
func (l *life) ready() {
	l.stage.t.Helper()
	ctx, cancel := context.WithTimeout(l.stage.t.Context(), caller.Patient)
	defer cancel()
	require.NoError(l.stage.t, l.Ready(ctx))
}

// signal sends a signal to the process.
func (l *life) signal(sig syscall.Signal) {
	l.stage.t.Helper()
	require.NoError(l.stage.t, l.Signal(sig))
}

// crash kills the process and then cuts its ways: what was kept back is lost.
func (l *life) crash() {
	l.Kill()
	for _, p := range l.proxies {
		p.Refuse()
	}
}

// dies waits for the death that its record is armed with, and lets it happen. A step that is
// not sure to come may be one of a rehearsal on a busy machine, where something was tried
// twice: false says that it does not come this time.
func (l *life) dies(d death, sure bool) bool {
	l.stage.t.Helper()
	const quiet = 3 * time.Second
	limit := time.After(caller.Patient)
	for steps := -1; ; steps = len(l.record.list()) {
		select {
		case <-l.record.reached:
			l.crash()
			return true
		case <-limit:
			l.record.rest() // it must not come later
			require.FailNow(l.stage.t, "the step never came", "%s; there were %v\n%s", d, l.record.list(), l.Output())
		case <-time.After(quiet):
		}
		if !sure && len(l.record.list()) == steps && l.record.disarm() {
			l.stage.t.Logf("%s did not come this time, only %v", d, l.record.list())
			return false
		}
	}
}
