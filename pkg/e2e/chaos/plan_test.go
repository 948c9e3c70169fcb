package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// mode is how the Redis of a round keeps what it has.
type mode string

const (
	bare     mode = "bare"     // it keeps nothing
	everysec mode = "everysec" // an append-only file, flushed each second
	always   mode = "always"   // an append-only file, flushed before each answer
	sentinel mode = "sentinel" // a master, two replicas, three sentinels
)

// fault is one way to break something.
type fault struct {
	name    string
	modes   []mode // where it makes sense; nil: everywhere
	forgets []mode // where Redis forgets by it what it has answered
	brk     func(*world, step) error
}

func (f *fault) fits(m mode) bool { return f.modes == nil || slices.Contains(f.modes, m) }

// step is one fault of a plan. dice are for what else the fault has to choose.
type step struct {
	fault *fault
	at    time.Duration // since the sale began
	lasts time.Duration
	dice  uint64
}

// plan is a round: the same for the same seed and the same choice of faults.
type plan struct {
	seed    uint64
	redis   mode
	units   int
	forgets bool          // Redis may forget orders that it accepted: then, and only then, some may be gone
	clock   bool          // one api runs by a clock of its own
	rest    time.Duration // how long all may take to come to rest afterwards
	steps   []step
}

const (
	breaking  = 4500 * time.Millisecond // faults begin within it
	stepsMin  = 4
	stepsMax  = 6
	lastsMin  = 200 * time.Millisecond
	lastsMore = 1000 * time.Millisecond
	restMax   = 45 * time.Second // far more than it takes for all to come to rest
)

// draw makes the plan of a seed from the faults that are wanted.
func draw(seed uint64, wanted []*fault) plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := plan{seed: seed, redis: pick(r, modesOf(wanted)), units: pick(r, []int{250, 250, 250, 600}), rest: restMax}
	p.forgets = p.redis == sentinel // which fails over by itself when the machine is busy
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(f *fault) bool { return !f.fits(p.redis) })
	// Most rounds must not forget: what they promise is more, and so they find more.
	keep := slices.DeleteFunc(slices.Clone(wanted), func(f *fault) bool { return slices.Contains(f.forgets, p.redis) })
	if len(keep) > 0 && r.IntN(3) > 0 {
		wanted = keep
	}
	for range stepsMin + r.IntN(stepsMax-stepsMin+1) {
		p.add(step{
			fault: pick(r, wanted), dice: r.Uint64(),
			at:    time.Duration(r.Int64N(int64(breaking))).Round(time.Millisecond),
			lasts: (lastsMin + time.Duration(r.Int64N(int64(lastsMore)))).Round(time.Millisecond),
		})
	}
	slices.SortFunc(p.steps, func(a, b step) int { return int(a.at - b.at) })
	return p
}

func (p *plan) add(s step) {
	p.steps = append(p.steps, s)
	p.forgets = p.forgets || slices.Contains(s.fault.forgets, p.redis) || p.has("drop-stream") && p.has("drop-tickets")
	p.clock = p.clock || s.fault.name == "clock-jump"
}

func (p *plan) has(name string) bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return s.fault.name == name })
}

// modesOf are the modes in which wanted faults fit, by how often they are to be drawn. A
// failover needs Sentinels; nothing else does.
func modesOf(wanted []*fault) (ms []mode) {
	for _, m := range []mode{bare, everysec, everysec, always, always, sentinel} {
		if slices.ContainsFunc(wanted, func(f *fault) bool {
			return f.fits(m) && (m != sentinel || f.modes != nil)
		}) {
			ms = append(ms, m)
		}
	}
	return ms
}

func pick[T any](r *rand.Rand, ts []T) T { return ts[r.IntN(len(ts))] }

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d units, Redis %s", p.seed, p.units, p.redis)
	if p.forgets {
		b.WriteString(", may forget")
	}
	for _, s := range p.steps {
		fmt.Fprintf(&b, "; %v %s for %v", s.at, s.fault.name, s.lasts)
	}
	return b.String()
}
