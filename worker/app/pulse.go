package app

import (
	"context"
	"encoding/json"

	"github.com/openseckill/seckill/pkg/obs"
)

// attend tells those who watch a console that this worker lives, and what went wrong in it.
func (w *Worker) attend(intake, _ context.Context) error {
	w.deps.Redis.Attend(intake, func() []byte {
		data, _ := json.Marshal(obs.Pulse{
			Process: w.deps.Options.Consumer, Program: "worker", Errors: w.recent.Newest(obs.PulseErrors),
		}) // texts and numbers: it cannot fail
		return data
	})
	return nil
}
