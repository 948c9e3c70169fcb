package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/worker/internal/pace"
)

// A name counts as dead after this many times the silence after which its messages are
// taken over, and never sooner than in silenceMin.
const (
	silenceClaims = 10
	silenceMin    = 5 * time.Minute
)

type groups interface {
	Partitions() int
	Retire(ctx context.Context, p int, idle time.Duration) ([]string, error)
}

// janitor takes the names of dead workers off the groups: each life of a worker has its own,
// and one that was killed could not give it up. What such a name still holds is taken over
// first; until then it stays.
type janitor struct {
	groups  groups
	silence time.Duration // after which a name counts as dead
	trouble *pace.Trouble
	log     *slog.Logger
}

// run looks five times in each silence, and a first time soon: a worker that is killed over
// and over may never live for long.
func (j *janitor) run(intake, work context.Context) error {
	every := j.silence / 5
	if run.Wait(intake, pace.Between(every/20, every/5)) != nil {
		return nil // intake ended
	}
	return run.Every(every, j.sweep)(intake, work)
}

func (j *janitor) sweep(ctx context.Context) {
	for p := range j.groups.Partitions() {
		names, err := j.groups.Retire(ctx, p, j.silence)
		j.trouble.Note(err)
		if err != nil {
			return
		}
		if len(names) > 0 {
			j.log.Info("names of dead consumers are off the group", "stream", p, "count", len(names), "first", names[0])
		}
	}
}
