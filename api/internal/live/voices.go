package live

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	silentAfter = 3 * time.Second // without a word a process may be gone
	goneAfter   = time.Minute     // then it is shown no more
	voicesMax   = 200             // processes
	errorsMax   = 50              // lines of logs, of all processes together
)

// voices joins what the processes say.
type voices struct {
	now func() time.Time

	mu    sync.Mutex
	part  Part
	known map[string]*voice
	all   meter
	sales map[seckill.VoucherID]*meter
}

// voice is one process.
type voice struct {
	obs.Pulse
	at time.Time
}

func newVoices(now func() time.Time) *voices {
	return &voices{now: now, known: map[string]*voice{}, sales: map[seckill.VoucherID]*meter{}}
}

// asked notes whether the processes could be asked.
func (vs *voices) asked(err error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.part.note(vs.now().UTC(), err)
}

// hear takes what a process said; what nobody of ours says is nothing.
func (vs *voices) hear(data []byte) {
	var p obs.Pulse
	if json.Unmarshal(data, &p) == nil && p.Process != "" {
		vs.tell(p)
	}
}

// tell takes the word of a process. What a process counted before it was first heard is in
// the sums and in no rate.
func (vs *voices) tell(p obs.Pulse) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	now := vs.now().UTC()
	was, old := vs.known[p.Process]
	if !old {
		if len(vs.known) >= voicesMax {
			return
		}
		was = &voice{}
		vs.known[p.Process] = was
	}
	vs.all.add(p.All.Since(was.All), old)
	for v, counts := range p.Sales {
		m := vs.sales[v]
		if m == nil {
			m = &meter{}
			vs.sales[v] = m
		}
		m.add(counts.Since(was.Sales[v]), old)
		m.heard = now
	}
	was.Pulse, was.at = p, now
}

// heard is what all of them together say.
type heard struct {
	all       Traffic
	sales     map[seckill.VoucherID]Traffic
	processes Processes
	errors    []Trouble
}

// of is the traffic of one voucher; nobody may have asked for it yet.
func (h heard) of(v seckill.VoucherID) Traffic {
	if t, ok := h.sales[v]; ok {
		return t
	}
	return Traffic{Refused: map[seckill.Code]uint64{}}
}

// sum ends one step of the meters, and tells how they stand.
func (vs *voices) sum() heard {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	now := vs.now().UTC()
	h := heard{
		all: vs.all.step(now), sales: map[seckill.VoucherID]Traffic{},
		processes: Processes{Part: vs.part, Items: []Process{}}, errors: []Trouble{},
	}
	for v, m := range vs.sales {
		if now.Sub(m.heard) > goneAfter {
			delete(vs.sales, v)
			continue
		}
		h.sales[v] = m.step(now)
	}
	for name, p := range vs.known {
		if now.Sub(p.at) > goneAfter {
			delete(vs.known, name)
			continue
		}
		h.processes.Items = append(h.processes.Items, Process{Name: name, Program: p.Program, At: p.at, Silent: now.Sub(p.at) > silentAfter})
		for _, e := range p.Errors {
			h.errors = append(h.errors, Trouble{Process: name, At: e.At, Level: e.Level, Text: e.Text})
		}
	}
	slices.SortFunc(h.processes.Items, func(a, b Process) int {
		return strings.Compare(a.Program+" "+a.Name, b.Program+" "+b.Name)
	})
	slices.SortFunc(h.errors, func(a, b Trouble) int { return b.At.Compare(a.At) })
	h.errors = h.errors[:min(len(h.errors), errorsMax)]
	return h
}

const (
	rateSteps     = 3  // of which a rate is made: processes speak a little earlier or later
	quantileSteps = 10 // of which a quantile is made
)

// meter are the purchases of all processes.
type meter struct {
	sum   obs.Counts
	now   obs.Counts // since the last step
	steps []step     // the newest last
	heard time.Time  // when somebody spoke of it last; of all vouchers together: never
}

type step struct {
	obs.Counts
	at time.Time
}

// add counts purchases, those that are new in the rates, too.
func (m *meter) add(c obs.Counts, fresh bool) {
	m.sum = m.sum.Plus(c)
	if fresh {
		m.now = m.now.Plus(c)
	}
}

func (m *meter) step(now time.Time) Traffic {
	m.steps = append(m.steps, step{m.now, now})
	m.steps = m.steps[max(0, len(m.steps)-quantileSteps):]
	m.now = obs.Counts{}
	t := Traffic{Requests: m.sum.Requests(), Refused: map[seckill.Code]uint64{}}
	for code, n := range m.sum.Codes {
		if code == obs.Accepted {
			t.Accepted = n
		} else {
			t.Refused[code] = n
		}
	}
	var lately obs.Counts
	for _, s := range m.steps {
		lately = lately.Plus(s.Counts)
	}
	t.P50, t.P99 = millis(lately.Quantile(0.5)), millis(lately.Quantile(0.99))
	t.RequestsPerSecond, t.AcceptedPerSecond = m.rates()
	return t
}

func (m *meter) rates() (requests, accepted float64) {
	if len(m.steps) < 2 {
		return 0, 0
	}
	first := m.steps[max(0, len(m.steps)-1-rateSteps)]
	last := m.steps[len(m.steps)-1]
	var n obs.Counts
	for _, s := range m.steps {
		if s.at.After(first.at) {
			n = n.Plus(s.Counts)
		}
	}
	took := last.at.Sub(first.at)
	return rate(int64(n.Requests()), took), rate(int64(n.Codes[obs.Accepted]), took)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
