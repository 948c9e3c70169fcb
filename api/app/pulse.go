package app

import (
	"context"
	"encoding/json"

	"github.com/openseckill/seckill/pkg/obs"
)

// pulse is what this process tells those who watch.
func (a *API) pulse() obs.Pulse {
	p := obs.Pulse{Process: a.deps.Name, Program: "api", Errors: a.recent.Newest(obs.PulseErrors)}
	p.All, p.Sales = a.tally.Counts()
	return p
}

// attend answers those who watch on other nodes.
func (a *API) attend(intake, _ context.Context) error {
	a.deps.Redis.Attend(intake, func() []byte {
		data, _ := json.Marshal(a.pulse()) // texts and numbers: it cannot fail
		return data
	})
	return nil
}
