package obs

import "github.com/openseckill/seckill/pkg/seckill"

// Pulse is what a process says of itself while somebody watches. What it counts, it counts
// since it began.
type Pulse struct {
	Process string                       `json:"process"` // its name, of its own for each life
	Program string                       `json:"program"` // "api" or "worker"
	All     Counts                       `json:"all,omitzero"`
	Sales   map[seckill.VoucherID]Counts `json:"sales,omitempty"`
	Errors  []Fault                      `json:"errors,omitempty"` // the newest, newest first
}

// PulseErrors is how many lines of its log a process tells.
const PulseErrors = 20
