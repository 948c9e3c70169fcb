package live

import (
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Sample is the whole sale at one moment.
type Sample struct {
	At        time.Time `json:"at"`
	Traffic   Traffic   `json:"traffic"` // of all vouchers
	Vouchers  Vouchers  `json:"vouchers"`
	Queue     Queue     `json:"queue"`
	Processes Processes `json:"processes"`
	Errors    []Trouble `json:"errors"` // newest first
}

// Part says when something was measured. With an error its source did not answer this time,
// and what stands beside it is as old as At says.
type Part struct {
	At    time.Time    `json:"at,omitzero"` // zero: never yet
	Error seckill.Code `json:"error,omitempty"`
}

// note takes the result of a look.
func (p *Part) note(at time.Time, err error) {
	p.Error = seckill.CodeOf(err)
	if err == nil {
		p.At = at
	}
}

// Traffic are purchases, as the processes that were heard counted them.
type Traffic struct {
	Requests          uint64                  `json:"requests"`
	Accepted          uint64                  `json:"accepted"`
	Refused           map[seckill.Code]uint64 `json:"refused"` // ALREADY_ORDERED got their own order again
	RequestsPerSecond float64                 `json:"requestsPerSecond"`
	AcceptedPerSecond float64                 `json:"acceptedPerSecond"`
	P50               float64                 `json:"p50"` // ms, of the last seconds; 0: there were none
	P99               float64                 `json:"p99"`
}

// Vouchers are those on sale, to come or just over, by SQL.
type Vouchers struct {
	Part
	Stored          int64     `json:"stored"` // live orders of all of them
	StoredPerSecond float64   `json:"storedPerSecond"`
	Items           []Voucher `json:"items"`
}

// Voucher is one of them: what SQL has beside what Redis has.
type Voucher struct {
	ID              seckill.VoucherID `json:"voucherId"`
	Title           string            `json:"title"`
	Price           int64             `json:"price"`
	Currency        string            `json:"currency"`
	Total           int64             `json:"total"`
	Stored          int64             `json:"stored"` // live orders
	StoredPerSecond float64           `json:"storedPerSecond"`
	BeginsAt        time.Time         `json:"beginsAt"`
	EndsAt          time.Time         `json:"endsAt"`
	State           seckill.State     `json:"state"`
	Version         int64             `json:"version"`
	Redis           Books             `json:"redis"`
	Traffic         Traffic           `json:"traffic"`
}

// Books are those of a voucher in Redis.
type Books struct {
	Part
	seckill.RedisBooks
	Balanced bool `json:"balanced"` // it is open, and its numbers fit
}

// Queue is the order stream, all partitions together.
type Queue struct {
	Part
	Silent    []int      `json:"silent,omitempty"` // partitions that do not answer
	Waiting   int64      `json:"waiting"`
	Pending   int64      `json:"pending"`
	Oldest    float64    `json:"oldestSeconds"`
	Dead      int64      `json:"dead"`
	Consumers []Consumer `json:"consumers"`
}

// Consumer is a worker of the stream.
type Consumer struct {
	Name  string  `json:"name"`
	Holds int64   `json:"holds"`
	Idle  float64 `json:"idleSeconds"`
}

// Processes are those that were heard of.
type Processes struct {
	Part
	Items []Process `json:"items"`
}

// Process is an api or a worker.
type Process struct {
	Name    string    `json:"name"`
	Program string    `json:"program"`
	At      time.Time `json:"at"`     // when it spoke last
	Silent  bool      `json:"silent"` // for so long that it may be gone
}

// Trouble is a line of a process's log.
type Trouble struct {
	Process string    `json:"process"`
	At      time.Time `json:"at"`
	Level   string    `json:"level"`
	Text    string    `json:"text"`
}
